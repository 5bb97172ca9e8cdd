//! Downloads from a local server that stalls, closes connections, redirects or returns wrong bytes.

mod server;
mod fixture;

use clenshaw::Error;
use clenshaw::data::fetch::{FetchEvent, FetchOptions, FileState, Manifest, fetch};
use fixture::{
    ADVICE, BAD, Fixture, GOOD, file, manifest_without_checksum, serve, sha256, toy_manifest,
};
use server::{Reply, Server};
use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

#[test]
fn fetches_missing_files_and_keeps_valid_ones() {
    let server = Server::start([serve(), Reply::Serve(BAD.to_vec())]);
    let (a, b) = (file("a.txt", GOOD, vec![server.url("/a")]), server.url("/b?raw=true"));
    let manifest =
        Manifest { folder: "toy".into(), files: vec![a, file("splits/b.npz", BAD, vec![b])] };
    let fixture = Fixture::new();
    let report = fixture.fetch(&manifest).unwrap();
    assert_eq!(server.requests(), ["/a", "/b?raw=true"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
    assert_eq!(fixture.read("toy/splits/b.npz").unwrap(), BAD);
    assert_eq!(fixture.files(), ["toy", "toy/a.txt", "toy/splits", "toy/splits/b.npz"]);
    assert_eq!((&report.folder[..], &report.warnings[..]), ("toy", &[][..]));
    let second = &report.files[1];
    assert_eq!((&second.path[..], second.bytes), ("toy/splits/b.npz", 58));
    assert_eq!((&second.sha256, second.checked), (&sha256(BAD), true));
    assert!(report.files.iter().all(|file| file.state == FileState::Fetched));

    let again = fixture.fetch(&manifest).unwrap();
    assert!(again.files.iter().all(|file| file.state == FileState::Kept));
    assert!(server.requests().is_empty());
}

#[test]
fn resumes_partial_download() {
    let server = Server::start([serve(), Reply::ServeWhole(GOOD.to_vec())]);
    let manifest = toy_manifest([server.url("/a")]);
    for request in ["/a bytes=20-", "/a bytes=20-"] {
        let fixture = Fixture::new();
        fixture.write("toy/.a.txt.partial", &GOOD[..20]);
        assert_eq!(fixture.fetch_state(&manifest), FileState::Fetched);
        assert_eq!(server.requests(), [request]);
        assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
        assert_eq!(fixture.files(), ["toy", "toy/a.txt"]);
    }
}

#[test]
fn complete_partial_file_needs_no_request() {
    let server = Server::start([]);
    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", GOOD);
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Fetched);
    assert!(server.requests().is_empty());
}

#[test]
fn partial_file_is_verified_after_an_unsatisfiable_range() {
    let server = Server::start([serve(), serve(), serve()]);
    let mut manifest = toy_manifest([server.url("/a")]);
    manifest.files[0].bytes = None;
    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", GOOD);
    assert_eq!(fixture.fetch_state(&manifest), FileState::Fetched);
    assert_eq!(server.requests(), ["/a bytes=58-"]);

    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", BAD);
    assert_eq!(fixture.fetch_state(&manifest), FileState::Fetched);
    assert_eq!(server.requests(), ["/a bytes=58-", "/a"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn wrong_partial_file_is_discarded_and_downloaded_again() {
    let server = Server::start([serve(), serve(), serve()]);
    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", &BAD[..30]);
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Fetched);
    assert_eq!(server.requests(), ["/a bytes=30-", "/a"]);
    fixture.write("toy/.a.txt.partial", &[b'x'; 99]);
    fixture.write("toy/a.txt", b"old");
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Replaced);
    assert_eq!(server.requests(), ["/a"]);
}

#[test]
fn wrong_content_range_is_rejected() {
    let server = Server::start([Reply::ServePart(GOOD.to_vec(), 10), serve()]);
    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", &GOOD[..20]);
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Fetched);
    assert_eq!(server.requests(), ["/a bytes=20-", "/a"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn broken_connection_is_retried() {
    let cut = |n| Reply::CutAfter(n, GOOD.to_vec());
    let server = Server::start([cut(11), Reply::Close, serve()]);
    let fixture = Fixture::new();
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Fetched);
    assert_eq!(server.requests(), ["/a", "/a bytes=11-", "/a bytes=11-"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn partial_file_is_kept_after_the_last_attempt() {
    let server =
        Server::start([Reply::Status(503), Reply::Close, Reply::CutAfter(11, GOOD.to_vec())]);
    let fixture = Fixture::new();
    let url = server.url("/a");
    let expected = format!("{url}: connection closed after 11 of 58 bytes; {ADVICE}");
    assert_eq!(fixture.fetch_error(&toy_manifest([url])), expected);
    assert_eq!(fixture.read("toy/.a.txt.partial").unwrap(), &GOOD[..11]);
    assert_eq!(fixture.files(), ["toy", "toy/.a.txt.partial"]);
}

#[test]
fn stalled_connections_time_out() {
    let server = Server::start([Reply::NoResponse, Reply::StallAfter(30, GOOD.to_vec()), serve()]);
    let fixture = Fixture::with_short_timeout();
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Fetched);
    assert_eq!(server.requests(), ["/a", "/a", "/a bytes=30-"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);

    let server = Server::start(vec![Reply::NoResponse; 3]);
    let url = server.url("/a");
    let fixture = Fixture::with_short_timeout();
    assert_eq!(
        fixture.fetch_error(&toy_manifest([url.clone()])),
        format!("{url}: no data received for 0.3 s; {ADVICE}")
    );
    assert!(fixture.files().is_empty(), "empty folders are removed");
}

#[test]
fn wrong_checksum_keeps_the_existing_file_and_tries_the_next_source() {
    let server = Server::start([Reply::Serve(BAD.to_vec()), Reply::Serve(BAD.to_vec()), serve()]);
    let fixture = Fixture::new();
    fixture.write("toy/a.txt", b"what was there");
    let url = server.url("/bad");
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(
        fixture.fetch_error(&toy_manifest([url.clone()])),
        format!("{url}: {digests}; {ADVICE}")
    );
    assert_eq!(fixture.read("toy/a.txt").unwrap(), b"what was there");
    assert_eq!(fixture.files(), ["toy", "toy/a.txt"]);

    assert_eq!(fixture.fetch_state(&toy_manifest([url, server.url("/good")])), FileState::Replaced);
    assert_eq!(server.requests(), ["/bad", "/bad", "/good"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn redirects_are_followed_up_to_a_limit() {
    let target = Server::start([serve()]);
    let server = Server::start([Reply::Redirect(target.url("/there"))]);
    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", &GOOD[..7]);
    assert_eq!(fixture.fetch_state(&toy_manifest([server.url("/a")])), FileState::Fetched);
    assert_eq!(target.requests(), ["/there bytes=7-"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);

    let server = Server::start(vec![Reply::Redirect("/a".into()); 20]);
    let url = server.url("/a");
    let expected = format!("{url}: more than 5 redirects; {ADVICE}");
    assert_eq!(Fixture::new().fetch_error(&toy_manifest([url])), expected);
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn client_errors_are_final_and_server_errors_are_retried() {
    let server = Server::start([403, 404, 500].map(Reply::Status).into_iter().chain([serve()]));
    let (first, second) = (server.url("/a"), server.url("/b"));
    let manifest = toy_manifest([first.clone(), second.clone()]);
    let expected = format!(
        "{first}: HTTP status 403 Forbidden; {second}: HTTP status 404 Not Found; {ADVICE}"
    );
    let fixture = Fixture::new();
    assert_eq!(fixture.fetch_error(&manifest), expected);
    assert_eq!(fixture.fetch_state(&manifest), FileState::Fetched);
    assert_eq!(server.requests(), ["/a", "/b", "/a", "/a"]);
}

#[test]
fn refused_connection_is_reported() {
    let server = Server::start([]);
    let url = server.url("/a");
    drop(server);
    let error = Fixture::new().fetch_error(&toy_manifest([url.clone()]));
    assert!(error.starts_with(&format!("{url}: cannot connect: ")), "{error}");
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn plain_http_server_is_rejected_for_https_url() {
    let server = Server::start([serve()]);
    let (fixture, url) = (Fixture::new(), server.url("/a").replace("http:", "https:"));
    let error = fixture.fetch_error(&toy_manifest([url.clone()]));
    assert!(error.starts_with(&format!("{url}: ")) && error.ends_with(ADVICE), "{error}");
    assert!(server.requests().is_empty() && fixture.files().is_empty());
}

#[test]
fn wrong_content_length_is_rejected() {
    let claim = |length: &str| Reply::ContentLength(length.into());
    let server = Server::start([claim("1000000000000"), claim("1000000000000")]);
    let url = server.url("/a");
    let expected = format!("{url}: content length is 1000000000000 bytes, expected 58; {ADVICE}");
    assert_eq!(Fixture::new().fetch_error(&toy_manifest([url.clone()])), expected);
    let expected = format!("{url}: more than 1073741824 bytes; {ADVICE}");
    assert_eq!(Fixture::new().fetch_error(&manifest_without_checksum(url)), expected);
}

#[test]
fn files_without_checksum_are_not_resumed_and_give_a_warning() {
    let server = Server::start([Reply::CutAfter(20, GOOD.to_vec()), serve()]);
    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", &BAD[..30]);
    let report = fixture.fetch(&manifest_without_checksum(server.url("/a"))).unwrap();
    assert_eq!(server.requests(), ["/a", "/a"]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
    let file = &report.files[0];
    assert_eq!((&file.sha256, file.checked), (&sha256(GOOD), false));
    let warning = "toy: no checksum is known for 1 of 1 files; \
                   compare their sha256 with a copy you trust";
    assert_eq!(report.warnings, [warning]);
}

#[test]
fn fetches_from_mirror_with_the_same_layout() {
    let manifest = toy_manifest(["http://unused.invalid/a".into()]);
    let server = Server::start([serve(), serve()]);
    for base in [server.url("/mirror"), server.url("/mirror/")] {
        let fixture = Fixture::new();
        fetch(&manifest, &FetchOptions { from: Some(&base), ..fixture.options() }).unwrap();
        assert_eq!(server.requests(), ["/mirror/toy/a.txt"]);
        assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
    }
}

#[test]
fn copies_and_verifies_files_of_a_folder() {
    let manifest = toy_manifest([]);
    let (fixture, source) = (Fixture::new(), Fixture::new());
    let folder = source.folder.path().to_str().unwrap();
    let path = source.folder.path().join("toy/a.txt");
    let copy = || fetch(&manifest, &FetchOptions { from: Some(folder), ..fixture.options() });
    let copy_error = || copy().unwrap_err().to_string();
    let here = fixture.folder.path().join("toy/a.txt");
    let (here, there) = (here.display(), path.display());

    assert_eq!(copy_error(), format!("{here}: {there}: file not found; {ADVICE}"));
    source.write("toy/a.txt", BAD);
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(copy_error(), format!("{here}: {there}: {digests}; {ADVICE}"));
    assert!(fixture.files().is_empty());
    source.write("toy/a.txt", GOOD);
    assert_eq!(copy().unwrap().files[0].state, FileState::Fetched);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn offline_mode_only_verifies() {
    let server = Server::start([]);
    let (fixture, manifest) = (Fixture::new(), toy_manifest([server.url("/a")]));
    let verify = || fetch(&manifest, &FetchOptions { offline: true, ..fixture.options() });
    let place =
        fixture.folder.path().display().to_string() + ": missing or invalid files: toy/a.txt: ";
    assert_eq!(verify().unwrap_err().to_string(), format!("{place}file not found"));
    fixture.write("toy/a.txt", BAD);
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(verify().unwrap_err().to_string(), place + &digests);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), BAD);
    fixture.write("toy/a.txt", GOOD);
    assert_eq!(verify().unwrap().files[0].state, FileState::Kept);
    assert!(server.requests().is_empty());
}

/// Builds a zip archive of deflated members, whose sizes follow the data.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new_stream(vec![]);
    for (name, content) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The manifest of two files that are members of one archive.
fn packed(server: &Server) -> Manifest {
    let member = |name: &str| vec![server.url(&format!("/all.zip#{name}"))];
    let files = vec![file("a.csv", GOOD, member("a.csv")), file("b.csv", BAD, member("b.csv"))];
    Manifest { folder: "toy".into(), files }
}

#[test]
fn archive_is_downloaded_once_for_all_members() {
    // The members follow a larger one that is not needed.
    let long = [b'e'; 10_000];
    let archive = zip(&[("x/edges.csv", &long), ("x/a.csv", GOOD), ("x/b.csv", BAD)]);
    let server =
        Server::start([Reply::CutAfter(40, archive.clone()), Reply::Serve(archive.clone())]);
    let fixture = Fixture::new();
    fixture.fetch(&packed(&server)).unwrap();
    assert_eq!(server.requests(), ["/all.zip", "/all.zip bytes=40-"]);
    assert_eq!(fixture.read("toy/a.csv").unwrap(), GOOD);
    assert_eq!(fixture.read("toy/b.csv").unwrap(), BAD);
    assert_eq!(fixture.files(), ["toy", "toy/a.csv", "toy/b.csv"]);
}

#[test]
fn damaged_archive_is_deleted() {
    let (wrong, good) = (zip(&[("a.csv", BAD)]), zip(&[("a.csv", GOOD), ("b.csv", BAD)]));
    let (bomb, other) = (zip(&[("a.csv", &vec![0; 10_000_000])]), zip(&[("c.csv", GOOD)]));
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    let truncated = "damaged archive: not a zip archive, or truncated: ";
    for (bytes, problem) in [
        (&wrong[..], &digests[..]),
        (b"<html>", truncated),
        (&good[..good.len() - 2], truncated),
        (&bomb, "more than 58 bytes"),
        (&other, "damaged archive: no member `a.csv`"),
    ] {
        let server = Server::start([Reply::Serve(bytes.to_vec())]);
        let fixture = Fixture::new();
        let error = fixture.fetch_error(&packed(&server));
        let expected = format!("{}: {problem}", server.url("/all.zip#a.csv"));
        assert!(error.starts_with(&expected) && error.ends_with(ADVICE), "{error}");
        assert!(fixture.files().is_empty());
    }
    // An archive of an earlier attempt is downloaded again if it is wrong.
    let (server, fixture) = (Server::start([Reply::Serve(good)]), Fixture::new());
    fixture.write("toy/.all.zip", &wrong);
    fixture.fetch(&packed(&server)).unwrap();
    assert_eq!(server.requests(), ["/all.zip"]);
    assert_eq!(fixture.files(), ["toy", "toy/a.csv", "toy/b.csv"]);
}

#[test]
fn proxy_is_used_unless_the_host_is_excluded() {
    let (proxy, server) = (Server::start([Reply::Status(418)]), Server::start([serve()]));
    let manifest = toy_manifest([server.url("/a")]);
    let mut fixture = Fixture::new();
    fixture.proxies.http = Some(proxy.url(""));
    let error = fixture.fetch_error(&manifest);
    assert!(!error.is_empty() && server.requests().is_empty(), "{error}");
    assert_eq!(proxy.requests(), [server.url("").trim_start_matches("http://")]);
    fixture.proxies.no_proxy = vec!["example.org".into(), "127.0.0.1".into()];
    assert_eq!(fixture.fetch_state(&manifest), FileState::Fetched);
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn cancelled_download_is_resumed_later() {
    let (long, cancel) = (vec![b'c'; 1 << 20], AtomicBool::new(false));
    let server = Server::start([Reply::Serve(long.clone()), Reply::Serve(long.clone())]);
    let manifest = Manifest {
        folder: "toy".into(),
        files: vec![file("a.txt", &long, vec![server.url("/a")])],
    };
    let fixture = Fixture::new();
    let stop = |event: FetchEvent<'_>| {
        cancel.store(matches!(event, FetchEvent::Received { .. }), Ordering::Relaxed);
    };
    let options = FetchOptions { on_event: &stop, cancel: &cancel, ..fixture.options() };
    assert!(matches!(fetch(&manifest, &options), Err(Error::Interrupted)));
    let part = fixture.read("toy/.a.txt.partial").unwrap();
    assert!(!part.is_empty() && part.len() < long.len());
    assert_eq!(fixture.fetch_state(&manifest), FileState::Fetched);
    assert_eq!(server.requests(), ["/a".to_owned(), format!("/a bytes={}-", part.len())]);
    assert_eq!(fixture.read("toy/a.txt").unwrap(), long);
}

#[test]
fn events_are_reported_in_order() {
    let server = Server::start([Reply::CutAfter(11, GOOD.to_vec()), serve()]);
    let (url, events) = (server.url("/a"), RefCell::new(vec![]));
    let fixture = Fixture::new();
    let on_event = |event: FetchEvent<'_>| {
        events.borrow_mut().push(match event {
            FetchEvent::Requested { file, source } => format!("{file} requested from {source}"),
            FetchEvent::Received { received, total, .. } => {
                format!("{received} of {total:?}")
            }
            FetchEvent::Failed { problem, retry_in, .. } => format!("{problem}, {retry_in:?}"),
            FetchEvent::Done(file) => format!("{} {:?}", file.path, file.state),
        });
    };
    fetch(&toy_manifest([url.clone()]), &FetchOptions { on_event: &on_event, ..fixture.options() })
        .unwrap();
    let expected = [
        &format!("toy/a.txt requested from {url}"),
        "11 of Some(58)",
        "connection closed after 11 of 58 bytes, Some(1ms)",
        "58 of Some(58)",
        "toy/a.txt Fetched",
    ];
    assert_eq!(events.into_inner(), expected);
}

#[test]
fn local_errors_name_the_file() {
    let manifest = toy_manifest(["http://127.0.0.1:9/unused".into()]);
    let fixture = Fixture::new();
    fixture.write("toy", b"a file");
    let file = fixture.folder.path().join("toy");
    let expected = format!("{}: expected a folder, found a file", file.display());
    assert_eq!(fixture.fetch(&manifest).unwrap_err().to_string(), expected);

    let fixture = Fixture::new();
    fixture.write("toy/.a.txt.partial", b"x");
    let partial = fixture.folder.path().join("toy/.a.txt.partial");
    let other = fs::File::open(&partial).unwrap();
    other.lock().unwrap();
    let expected = format!("{}: another process is downloading this file", partial.display());
    assert_eq!(fixture.fetch_error(&manifest), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_stops_without_trying_other_sources() {
    let server = Server::start([serve()]);
    let fixture = Fixture::new();
    fs::create_dir(fixture.folder.path().join("toy")).unwrap();
    let partial = fixture.folder.path().join("toy/.a.txt.partial");
    std::os::unix::fs::symlink(Path::new("/dev/full"), &partial).unwrap();
    let expected = format!("{}: No space left on device (os error 28)", partial.display());
    assert_eq!(fixture.fetch_error(&toy_manifest([server.url("/a"), server.url("/b")])), expected);
    assert_eq!(server.requests(), ["/a"]);
}
