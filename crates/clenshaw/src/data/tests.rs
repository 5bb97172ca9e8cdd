//! Tests of loading data sets by name and path.

use super::*;

fn load_error(text: &str) -> String {
    load(text).unwrap_err().to_string()
}

#[test]
fn node_numbers_must_fit_into_u32() {
    assert!(check_node_count("it", u32::MAX as usize).is_ok());
    let error = check_node_count("it", 1 << 32).unwrap_err().to_string();
    assert_eq!(error, "it: 4294967296 nodes; expected at most 4294967295");
}

#[test]
fn every_embedded_or_generated_dataset_loads_reproducibly() {
    for info in DATASETS.iter().filter(|info| info.kind() != "files") {
        let dataset = load(info.name).unwrap();
        assert_eq!(dataset.name, info.name);
        assert!(dataset.class_sizes().iter().all(|&size| size > 0), "{}", info.name);
        assert_eq!(load(info.name).unwrap().sha256(), dataset.sha256());
        assert!(std::ptr::eq(find(info.name).unwrap(), info));
    }
}

#[test]
fn missing_path_is_reported_as_missing_file() {
    assert_eq!(load_error("my/graph"), "my/graph: No such file or directory (os error 2)");
}

#[test]
fn missing_files_error_lists_the_searched_folders() {
    let error = load_from(&Store::only("/nowhere"), "texas").unwrap_err().to_string();
    assert_eq!(error, "texas: files not found; looked in /nowhere/texas");
    let error = load_published(&Store::only("/nowhere"), "cora").unwrap_err().to_string();
    assert!(error.ends_with("looked in /nowhere/cora"), "{error}");
}

#[test]
fn own_files_are_cached_until_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text| std::fs::write(folder.path().join(name), text).unwrap();
    write("edges.csv", "ann,bob\nbob,cid\n");
    write("nodes.csv", "id,age,label,split\nann,31,tea,train\nbob,27,coffee,test\ncid,45,,\n");
    let uncached = Store::only("nowhere");
    let caching = uncached.clone().with_cache(Some(folder.path().join("cache")));
    for path in [folder.path().to_owned(), folder.path().join("edges.csv")] {
        let path = path.to_str().unwrap();
        let fresh = load_from(&uncached, path).unwrap();
        assert_eq!((fresh.graph.n_edges(), fresh.splits.len()), (2, 1));
        assert_eq!(load_from(&caching, path).unwrap(), fresh);
        assert_eq!(load_from(&caching, path).unwrap(), fresh);
    }
    let cached = caching.cache_folder().unwrap();
    assert_eq!(cached.read_dir().unwrap().count(), 2);
    write("edges.csv", "ann,bob\nbob,cid\nann,cid\n");
    let path = folder.path().to_str().unwrap();
    assert_eq!(load_from(&caching, path).unwrap().graph.n_edges(), 3);
    assert_eq!(cached.read_dir().unwrap().count(), 2);
}

#[test]
fn known_names_and_paths_take_precedence_over_imported_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::only(folder.path());
    let csbm = load("csbm:nodes=60").unwrap();
    for name in ["mine.graph", "cora.graph"] {
        graph_file::save(&csbm, &folder.path().join(name)).unwrap();
    }
    let mine = load_from(&store, "mine").unwrap();
    assert_eq!(mine, Dataset { name: "mine".into(), ..csbm.clone() });
    assert_eq!(load_from(&store, "cora").unwrap().graph.n_nodes(), 2708);
    let path = folder.path().join("cora.graph").display().to_string();
    assert_eq!(load_from(&store, &path).unwrap(), Dataset { name: path.clone(), ..csbm });
    let error = load_from(&store, "mime").unwrap_err().to_string();
    assert!(error.starts_with("unknown graph `mime`; did you mean `mine`?"), "{error}");
    assert!(error.ends_with(", mine"), "{error}");
}

#[test]
fn generated_name_records_seed_and_settings() {
    for info in DATASETS.iter().filter(|info| info.kind() == "generated") {
        let text = format!("{}:seed=3,features=5", info.name);
        let dataset = load(&text).unwrap();
        assert_eq!(dataset.name, format!("{}:features=5,seed=3", info.name));
        assert_eq!(load(&dataset.name).unwrap().sha256(), dataset.sha256());
        assert_eq!(dataset.x.n_cols(), 5);
        let other = load(&format!("{}:seed=4,features=5", info.name)).unwrap();
        assert_ne!(other.sha256(), dataset.sha256());
    }
}

#[test]
fn bad_names_and_settings_are_rejected_with_suggestions() {
    let unknown = "unknown graph `coar`; did you mean `cora`? known: cora, csbm, grid, power-law,";
    assert!(load_error("coar").starts_with(unknown), "{}", load_error("coar"));
    assert_eq!(
        load_error("csbm:homophly=0.1"),
        "unknown key `homophly`; did you mean `homophily`? \
         known: nodes, classes, degree, homophily, features, signal, seed"
    );
    assert_eq!(load_error("csbm:homophily=2"), "`homophily` is 2, outside 0 to 1");
    assert_eq!(load_error("csbm:nodes"), "`graph` is `nodes`; expected `key=value`");
    assert_eq!(
        load_error("cora:seed=1"),
        "`graph` is `cora:seed=1`; expected `cora` without settings; \
                     only generated graphs have settings"
    );
    assert_eq!(
        load_error("grid:rows=3,columns=3,classes=5"),
        "`classes` is 5, outside 2 to 4 for 9 nodes"
    );
}
