//! One process that trains when it is told to.

use crate::Outcome;
use crate::python::last_lines;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct Contender {
    pub name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    complaints: PathBuf,
}

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub peak: Option<f64>,
    /// Before it read the graph.
    pub start: Option<f64>,
}

impl Contender {
    /// Starts `command` and waits until it is ready; its first answer holds its losses.
    pub fn start(
        name: &'static str,
        command: &mut Command,
        folder: &Path,
    ) -> Outcome<(Self, Value)> {
        let complaints = folder.join(format!("{name}.stderr"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&complaints)?);
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("nothing to listen to")?);
        let mut contender = Self { name, child, input, output, complaints };
        let ready = contender.answer()?;
        Ok((contender, ready))
    }

    /// The seconds of each of `n` training steps.
    pub fn steps(&mut self, n: usize) -> Outcome<Vec<f64>> {
        let answer = self.ask(&format!("steps {n}"))?;
        let seconds = answer.as_array().map(|all| all.iter().filter_map(Value::as_f64).collect());
        let good = seconds.filter(|seconds: &Vec<f64>| seconds.len() == n);
        good.ok_or_else(|| format!("{}: `{answer}`; expected {n} times", self.name).into())
    }

    pub fn memory(&mut self) -> Outcome<Memory> {
        let answer = self.ask("peak")?;
        Ok(Memory { peak: answer["peak"].as_f64(), start: answer["start"].as_f64() })
    }

    fn ask(&mut self, line: &str) -> Outcome<Value> {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{line}"));
        match sent {
            Some(Ok(())) => self.answer(),
            _ => Err(self.death().into()),
        }
    }

    fn answer(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(n) if n > 0 => Ok(serde_json::from_str(&line)?),
            _ => Err(self.death().into()),
        }
    }

    /// How it ended and what it complained about.
    fn death(&mut self) -> String {
        let status = self.child.wait().map_or("lost".into(), |status| status.to_string());
        let said = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        format!("{}: {status}\n{}", self.name, last_lines(&said, 8))
    }
}

impl Drop for Contender {
    /// A closed input ends it; whoever does not listen is ended.
    fn drop(&mut self) {
        self.input = None;
        let mut rest = String::new();
        if self.output.read_line(&mut rest).is_err() {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A folder that is gone when the test is over.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("clenshaw-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).expect("room for a folder");
            Self(folder)
        }

        fn shell(&self, script: &str) -> Outcome<(Contender, Value)> {
            Contender::start("shell", Command::new("sh").args(["-c", script]), &self.0)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn lines_are_asked_and_answered() {
        let script =
            r#"echo '{"loss": 1.5}'; read a; echo '[0.5, 0.25]'; read b; echo '{"peak": 7}'"#;
        let folder = Folder::new("answers");
        let (mut contender, ready) = folder.shell(script).unwrap();
        assert_eq!(ready["loss"], 1.5);
        assert_eq!(contender.steps(2).unwrap(), [0.5, 0.25]);
        assert_eq!(contender.memory().unwrap().peak, Some(7.0));
    }

    #[test]
    fn a_death_tells_its_last_words() {
        let folder = Folder::new("death");
        let error = folder.shell("echo first >&2; echo out of memory >&2; exit 3");
        let error = error.err().unwrap().to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("out of memory"), "{error}");
        let (mut contender, _) = folder.shell("echo '{}'; echo why >&2").unwrap();
        let error = contender.steps(1).unwrap_err().to_string();
        assert!(error.ends_with("why"), "{error}");
    }
}
