//! Downloads against a server on loopback that stalls, cuts off, lies, redirects and refuses.

mod server;
mod desk;

use clenshaw::Error;
use clenshaw::data::fetch::{Options, Progress, Set, State, fetch};
use desk::{ADVICE, BAD, Desk, GOOD, file, serve, sha256, toy, unchecked};
use server::{Act, Server};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn what_is_missing_comes_and_what_is_good_is_kept() {
    let server = Server::start([serve(), Act::Serve(BAD.to_vec())]);
    let (a, b) = (file("a.txt", GOOD, vec![server.url("/a")]), server.url("/b?raw=true"));
    let set = Set { folder: "toy".into(), files: vec![a, file("splits/b.npz", BAD, vec![b])] };
    let desk = Desk::new();
    let report = desk.fetch(&set).unwrap();
    assert_eq!(server.requests(), ["/a", "/b?raw=true"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
    assert_eq!(desk.read("toy/splits/b.npz").unwrap(), BAD);
    assert_eq!(desk.files(), ["toy", "toy/a.txt", "toy/splits", "toy/splits/b.npz"]);
    assert_eq!((&report.folder[..], &report.warnings[..]), ("toy", &[][..]));
    let second = &report.files[1];
    assert_eq!((&second.path[..], second.bytes), ("toy/splits/b.npz", 58));
    assert_eq!((&second.sha256, second.checked), (&sha256(BAD), true));
    assert!(report.files.iter().all(|held| held.state == State::Fetched));

    let again = desk.fetch(&set).unwrap();
    assert!(again.files.iter().all(|held| held.state == State::Kept));
    assert!(server.requests().is_empty());
}

#[test]
fn a_download_is_resumed_where_it_ended() {
    let server = Server::start([serve(), Act::ServeWhole(GOOD.to_vec())]);
    let set = toy([server.url("/a")]);
    for request in ["/a bytes=20-", "/a bytes=20-"] {
        let desk = Desk::new();
        desk.write("toy/.a.txt.partial", &GOOD[..20]);
        assert_eq!(desk.state(&set), State::Fetched);
        assert_eq!(server.requests(), [request]);
        assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
        assert_eq!(desk.files(), ["toy", "toy/a.txt"]);
    }
}

#[test]
fn a_partial_file_that_is_whole_needs_no_request() {
    let server = Server::start([]);
    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", GOOD);
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Fetched);
    assert!(server.requests().is_empty());
}

#[test]
fn a_range_beyond_the_end_is_left_to_the_checksum() {
    let server = Server::start([serve(), serve(), serve()]);
    let mut set = toy([server.url("/a")]);
    set.files[0].bytes = None;
    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", GOOD);
    assert_eq!(desk.state(&set), State::Fetched);
    assert_eq!(server.requests(), ["/a bytes=58-"]);

    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", BAD);
    assert_eq!(desk.state(&set), State::Fetched);
    assert_eq!(server.requests(), ["/a bytes=58-", "/a"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn a_bad_beginning_is_not_held_against_a_good_server() {
    let server = Server::start([serve(), serve(), serve()]);
    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", &BAD[..30]);
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Fetched);
    assert_eq!(server.requests(), ["/a bytes=30-", "/a"]);
    desk.write("toy/.a.txt.partial", &[b'x'; 99]);
    desk.write("toy/a.txt", b"old");
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Replaced);
    assert_eq!(server.requests(), ["/a"]);
}

#[test]
fn a_part_that_was_not_asked_for_is_not_taken() {
    let server = Server::start([Act::ServePart(GOOD.to_vec(), 10), serve()]);
    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", &GOOD[..20]);
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Fetched);
    assert_eq!(server.requests(), ["/a bytes=20-", "/a"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn a_connection_that_breaks_is_taken_up_again() {
    let cut = |n| Act::CutAfter(n, GOOD.to_vec());
    let server = Server::start([cut(11), Act::Close, serve()]);
    let desk = Desk::new();
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Fetched);
    assert_eq!(server.requests(), ["/a", "/a bytes=11-", "/a bytes=11-"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn a_connection_that_breaks_for_good_leaves_what_came() {
    let server = Server::start([Act::Status(503), Act::Close, Act::CutAfter(11, GOOD.to_vec())]);
    let desk = Desk::new();
    let url = server.url("/a");
    let expected = format!("{url}: cut off after 11 of 58 bytes; {ADVICE}");
    assert_eq!(desk.refused(&toy([url])), expected);
    assert_eq!(desk.read("toy/.a.txt.partial").unwrap(), &GOOD[..11]);
    assert_eq!(desk.files(), ["toy", "toy/.a.txt.partial"]);
}

#[test]
fn silence_is_not_waited_out() {
    let server = Server::start([Act::Silence, Act::StallAfter(30, GOOD.to_vec()), serve()]);
    let desk = Desk::impatient();
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Fetched);
    assert_eq!(server.requests(), ["/a", "/a", "/a bytes=30-"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);

    let server = Server::start(vec![Act::Silence; 3]);
    let url = server.url("/a");
    let desk = Desk::impatient();
    assert_eq!(desk.refused(&toy([url.clone()])), format!("{url}: silent for 0.3 s; {ADVICE}"));
    assert!(desk.files().is_empty(), "no empty folder is left to look like a data set");
}

#[test]
fn wrong_bytes_spoil_nothing_and_the_next_source_is_asked() {
    let server = Server::start([Act::Serve(BAD.to_vec()), Act::Serve(BAD.to_vec()), serve()]);
    let desk = Desk::new();
    desk.write("toy/a.txt", b"what was there");
    let url = server.url("/bad");
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(desk.refused(&toy([url.clone()])), format!("{url}: {digests}; {ADVICE}"));
    assert_eq!(desk.read("toy/a.txt").unwrap(), b"what was there");
    assert_eq!(desk.files(), ["toy", "toy/a.txt"]);

    assert_eq!(desk.state(&toy([url, server.url("/good")])), State::Replaced);
    assert_eq!(server.requests(), ["/bad", "/bad", "/good"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn redirects_are_followed_but_not_for_ever() {
    let target = Server::start([serve()]);
    let server = Server::start([Act::Redirect(target.url("/there"))]);
    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", &GOOD[..7]);
    assert_eq!(desk.state(&toy([server.url("/a")])), State::Fetched);
    assert_eq!(target.requests(), ["/there bytes=7-"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);

    let server = Server::start(vec![Act::Redirect("/a".into()); 20]);
    let url = server.url("/a");
    let expected = format!("{url}: redirects more than 5 times; {ADVICE}");
    assert_eq!(Desk::new().refused(&toy([url])), expected);
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn a_refusal_is_final_but_a_faulty_server_is_asked_again() {
    let server = Server::start([403, 404, 500].map(Act::Status).into_iter().chain([serve()]));
    let (first, second) = (server.url("/a"), server.url("/b"));
    let set = toy([first.clone(), second.clone()]);
    let expected =
        format!("{first}: answers 403 Forbidden; {second}: answers 404 Not Found; {ADVICE}");
    let desk = Desk::new();
    assert_eq!(desk.refused(&set), expected);
    assert_eq!(desk.state(&set), State::Fetched);
    assert_eq!(server.requests(), ["/a", "/b", "/a", "/a"]);
}

#[test]
fn nobody_at_the_door_is_said() {
    let server = Server::start([]);
    let url = server.url("/a");
    drop(server);
    let told = Desk::new().refused(&toy([url.clone()]));
    assert!(told.starts_with(&format!("{url}: no connection: ")), "{told}");
    assert!(told.contains("refused"), "{told}");
}

#[test]
fn an_open_connection_does_not_pass_for_a_checked_one() {
    let server = Server::start([serve()]);
    let (desk, url) = (Desk::new(), server.url("/a").replace("http:", "https:"));
    let told = desk.refused(&toy([url.clone()]));
    assert!(told.starts_with(&format!("{url}: ")) && told.ends_with(ADVICE), "{told}");
    assert!(server.requests().is_empty() && desk.files().is_empty());
}

#[test]
fn impossible_lengths_are_not_believed() {
    let claim = |length: &str| Act::Claim(length.into());
    let server = Server::start([claim("1000000000000"), claim("1000000000000")]);
    let url = server.url("/a");
    let expected = format!("{url}: announces 1000000000000 bytes, expected 58; {ADVICE}");
    assert_eq!(Desk::new().refused(&toy([url.clone()])), expected);
    let expected = format!("{url}: sends more than 1073741824 bytes; {ADVICE}");
    assert_eq!(Desk::new().refused(&unchecked(url)), expected);
}

#[test]
fn without_a_checksum_nothing_is_resumed_and_a_warning_is_given() {
    let server = Server::start([Act::CutAfter(20, GOOD.to_vec()), serve()]);
    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", &BAD[..30]);
    let report = desk.fetch(&unchecked(server.url("/a"))).unwrap();
    assert_eq!(server.requests(), ["/a", "/a"]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
    let held = &report.files[0];
    assert_eq!((&held.sha256, held.checked), (&sha256(GOOD), false));
    let warning = "toy: no checksum is known for 1 of 1 files; \
                   compare their sha256 with a copy you trust";
    assert_eq!(report.warnings, [warning]);
}

#[test]
fn another_place_of_the_same_layout_serves_as_well() {
    let set = toy(["http://unused.invalid/a".into()]);
    let server = Server::start([serve(), serve()]);
    for base in [server.url("/mirror"), server.url("/mirror/")] {
        let desk = Desk::new();
        fetch(&set, &Options { from: Some(&base), ..desk.options() }).unwrap();
        assert_eq!(server.requests(), ["/mirror/toy/a.txt"]);
        assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
    }
}

#[test]
fn a_folder_of_the_same_layout_is_copied_and_checked() {
    let set = toy([]);
    let (desk, source) = (Desk::new(), Desk::new());
    let folder = source.folder.path().to_str().unwrap();
    let path = source.folder.path().join("toy/a.txt");
    let copy = || fetch(&set, &Options { from: Some(folder), ..desk.options() });
    let refused = || copy().unwrap_err().to_string();
    let here = desk.folder.path().join("toy/a.txt");
    let (here, there) = (here.display(), path.display());

    assert_eq!(refused(), format!("{here}: {there}: no such file; {ADVICE}"));
    source.write("toy/a.txt", BAD);
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(refused(), format!("{here}: {there}: {digests}; {ADVICE}"));
    assert!(desk.files().is_empty());
    source.write("toy/a.txt", GOOD);
    assert_eq!(copy().unwrap().files[0].state, State::Fetched);
    assert_eq!(desk.read("toy/a.txt").unwrap(), GOOD);
}

#[test]
fn offline_only_verifies() {
    let server = Server::start([]);
    let (desk, set) = (Desk::new(), toy([server.url("/a")]));
    let verify = || fetch(&set, &Options { offline: true, ..desk.options() });
    let place = desk.folder.path().display().to_string() + ": not there or not good: toy/a.txt: ";
    assert_eq!(verify().unwrap_err().to_string(), format!("{place}no such file"));
    desk.write("toy/a.txt", BAD);
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(verify().unwrap_err().to_string(), place + &digests);
    assert_eq!(desk.read("toy/a.txt").unwrap(), BAD);
    desk.write("toy/a.txt", GOOD);
    assert_eq!(verify().unwrap().files[0].state, State::Kept);
    assert!(server.requests().is_empty());
}

/// Stored, not deflated: the smallest zip there is.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in members {
        archive.extend(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
        archive.extend([content.len() as u32; 2].map(u32::to_le_bytes).concat());
        archive.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        archive.extend([name.as_bytes(), content].concat());
    }
    archive.extend([&b"PK\x01\x02"[..], &[0; 42]].concat());
    archive
}

/// Two files that are published in one archive.
fn packed(server: &Server) -> Set {
    let member = |name: &str| vec![server.url(&format!("/all.zip#{name}"))];
    let files = vec![file("a.csv", GOOD, member("a.csv")), file("b.csv", BAD, member("b.csv"))];
    Set { folder: "toy".into(), files }
}

#[test]
fn an_archive_comes_once_for_all_its_members() {
    let archive = zip(&[("x/README", b"read me"), ("x/a.csv", GOOD), ("x/b.csv", BAD)]);
    let server = Server::start([Act::CutAfter(40, archive.clone()), Act::Serve(archive.clone())]);
    let desk = Desk::new();
    desk.fetch(&packed(&server)).unwrap();
    assert_eq!(server.requests(), ["/all.zip", "/all.zip bytes=40-"]);
    assert_eq!(desk.read("toy/a.csv").unwrap(), GOOD);
    assert_eq!(desk.read("toy/b.csv").unwrap(), BAD);
    assert_eq!(desk.files(), ["toy", "toy/a.csv", "toy/b.csv"]);
}

#[test]
fn a_bad_archive_is_thrown_away() {
    let (bad, good) = (zip(&[("a.csv", BAD)]), zip(&[("a.csv", GOOD), ("b.csv", BAD)]));
    let server = Server::start([bad.clone(), b"<html>".to_vec(), good].map(Act::Serve));
    let (desk, set) = (Desk::new(), packed(&server));
    let source = server.url("/all.zip#a.csv");
    let digests = format!("sha256 is {}, expected {}", sha256(BAD), sha256(GOOD));
    assert_eq!(desk.refused(&set), format!("{source}: {digests}; {ADVICE}"));
    let cut = "damaged archive: it is cut off";
    assert_eq!(desk.refused(&set), format!("{source}: {cut}; {ADVICE}"));
    assert!(desk.files().is_empty());
    // One that an earlier attempt left is not held against the server.
    desk.write("toy/.all.zip", &bad);
    desk.fetch(&set).unwrap();
    assert_eq!(server.requests(), ["/all.zip"; 3]);
    assert_eq!(desk.files(), ["toy", "toy/a.csv", "toy/b.csv"]);
}

#[test]
fn the_proxy_is_asked_unless_the_host_is_an_exception() {
    let (proxy, server) = (Server::start([Act::Status(418)]), Server::start([serve()]));
    let set = toy([server.url("/a")]);
    let mut desk = Desk::new();
    desk.proxies.http = Some(proxy.url(""));
    let told = desk.refused(&set);
    assert!(!told.is_empty() && server.requests().is_empty(), "{told}");
    assert_eq!(proxy.requests(), [server.url("").trim_start_matches("http://")]);
    desk.proxies.except = vec!["example.org".into(), "127.0.0.1".into()];
    assert_eq!(desk.state(&set), State::Fetched);
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn a_user_who_stops_keeps_what_came() {
    let (long, cancel) = (vec![b'c'; 1 << 20], AtomicBool::new(false));
    let server = Server::start([Act::Serve(long.clone()), Act::Serve(long.clone())]);
    let set =
        Set { folder: "toy".into(), files: vec![file("a.txt", &long, vec![server.url("/a")])] };
    let desk = Desk::new();
    let stop = |progress: Progress<'_>| {
        cancel.store(matches!(progress, Progress::Bytes { .. }), Ordering::Relaxed);
    };
    let options = Options { watch: &stop, cancel: &cancel, ..desk.options() };
    assert!(matches!(fetch(&set, &options), Err(Error::Interrupted)));
    let part = desk.read("toy/.a.txt.partial").unwrap();
    assert!(!part.is_empty() && part.len() < long.len());
    assert_eq!(desk.state(&set), State::Fetched);
    assert_eq!(server.requests(), ["/a".to_owned(), format!("/a bytes={}-", part.len())]);
    assert_eq!(desk.read("toy/a.txt").unwrap(), long);
}

#[test]
fn what_happens_is_told_in_order() {
    let server = Server::start([Act::CutAfter(11, GOOD.to_vec()), serve()]);
    let (url, told) = (server.url("/a"), RefCell::new(vec![]));
    let desk = Desk::new();
    let watch = |progress: Progress<'_>| {
        told.borrow_mut().push(match progress {
            Progress::Asked { file, source } => format!("{file} asked of {source}"),
            Progress::Bytes { have, of, .. } => format!("{have} of {of:?}"),
            Progress::Failed { problem, again_in, .. } => format!("{problem}, {again_in:?}"),
            Progress::Done(held) => format!("{} {:?}", held.path, held.state),
        });
    };
    fetch(&toy([url.clone()]), &Options { watch: &watch, ..desk.options() }).unwrap();
    let expected = [
        &format!("toy/a.txt asked of {url}"),
        "11 of Some(58)",
        "cut off after 11 of 58 bytes, Some(1ms)",
        "58 of Some(58)",
        "toy/a.txt Fetched",
    ];
    assert_eq!(told.into_inner(), expected);
}

#[test]
fn trouble_on_this_side_is_named() {
    let set = toy(["http://127.0.0.1:9/unused".into()]);
    let desk = Desk::new();
    desk.write("toy", b"a file");
    let file = desk.folder.path().join("toy");
    let expected = format!("{}: a file stands where a folder is needed", file.display());
    assert_eq!(desk.fetch(&set).unwrap_err().to_string(), expected);

    let desk = Desk::new();
    desk.write("toy/.a.txt.partial", b"x");
    let partial = desk.folder.path().join("toy/.a.txt.partial");
    let other = fs::File::open(&partial).unwrap();
    other.lock().unwrap();
    let expected = format!("{}: another process is fetching it", partial.display());
    assert_eq!(desk.refused(&set), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_and_no_other_source_is_bothered() {
    let server = Server::start([serve()]);
    let desk = Desk::new();
    fs::create_dir(desk.folder.path().join("toy")).unwrap();
    let partial = desk.folder.path().join("toy/.a.txt.partial");
    std::os::unix::fs::symlink(Path::new("/dev/full"), &partial).unwrap();
    let expected = format!("{}: No space left on device (os error 28)", partial.display());
    assert_eq!(desk.refused(&toy([server.url("/a"), server.url("/b")])), expected);
    assert_eq!(server.requests(), ["/a"]);
}
