//! A process that trains on request.

use super::implementation::Implementation;
use crate::Result;
use crate::python::last_lines;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running implementation; `crates/clenshaw/benches/step` documents the protocol.
pub struct TrainingProcess {
    pub implementation: &'static Implementation,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    log: PathBuf,
}

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub peak: Option<f64>,
    /// The memory before the graph was read.
    pub start: Option<f64>,
}

impl TrainingProcess {
    /// Starts `command` and waits until it is ready; returns its first answer, which has its losses.
    pub fn start(
        implementation: &'static Implementation,
        command: &mut Command,
        folder: &Path,
    ) -> Result<(Self, Value)> {
        let name = implementation.name;
        let log = folder.join(format!("{name}.stderr"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut process = Self { implementation, child, input, output, log };
        let ready = process.read_answer()?;
        Ok((process, ready))
    }

    /// Runs `n` training steps and returns the seconds of each.
    pub fn run_steps(&mut self, n: usize) -> Result<Vec<f64>> {
        let answer = self.request(&format!("steps {n}"))?;
        let seconds = answer.as_array().map(|all| all.iter().filter_map(Value::as_f64).collect());
        let complete = seconds.filter(|seconds: &Vec<f64>| seconds.len() == n);
        complete.ok_or_else(|| {
            format!("{}: `{answer}`; expected {n} times", self.implementation.name).into()
        })
    }

    /// Requests the peak and initial memory of the process.
    pub fn request_memory(&mut self) -> Result<Memory> {
        let answer = self.request("peak")?;
        Ok(Memory { peak: answer["peak"].as_f64(), start: answer["start"].as_f64() })
    }

    /// Sends a line and returns the answer.
    fn request(&mut self, line: &str) -> Result<Value> {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{line}"));
        match sent {
            Some(Ok(())) => self.read_answer(),
            _ => Err(self.exit_message().into()),
        }
    }

    /// Reads one line of JSON.
    fn read_answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(n) if n > 0 => Ok(serde_json::from_str(&line)?),
            _ => Err(self.exit_message().into()),
        }
    }

    /// Waits for the process to end; returns its exit status and the end of its standard error.
    fn exit_message(&mut self) -> String {
        let status =
            self.child.wait().map_or("unknown exit status".into(), |status| status.to_string());
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        format!("{}: {status}\n{}", self.implementation.name, last_lines(&log, 8))
    }
}

impl Drop for TrainingProcess {
    /// Closes the input, which ends the process; kills it if that fails.
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
    use super::super::implementation::CLENSHAW;
    use super::*;

    /// A folder that is deleted after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("clenshaw-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).expect("a temporary folder");
            Self(folder)
        }

        fn shell(&self, script: &str) -> Result<(TrainingProcess, Value)> {
            TrainingProcess::start(&CLENSHAW, Command::new("sh").args(["-c", script]), &self.0)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn sends_requests_and_reads_answers() {
        let script =
            r#"echo '{"loss": 1.5}'; read a; echo '[0.5, 0.25]'; read b; echo '{"peak": 7}'"#;
        let folder = Folder::new("answers");
        let (mut process, ready) = folder.shell(script).unwrap();
        assert_eq!(ready["loss"], 1.5);
        assert_eq!(process.run_steps(2).unwrap(), [0.5, 0.25]);
        assert_eq!(process.request_memory().unwrap().peak, Some(7.0));
    }

    #[test]
    fn error_has_exit_status_and_last_lines() {
        let folder = Folder::new("death");
        let error = folder.shell("echo first >&2; echo out of memory >&2; exit 3");
        let error = error.err().unwrap().to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("out of memory"), "{error}");
        let (mut process, _) = folder.shell("echo '{}'; echo why >&2").unwrap();
        let error = process.run_steps(1).unwrap_err().to_string();
        assert!(error.ends_with("why"), "{error}");
    }
}
