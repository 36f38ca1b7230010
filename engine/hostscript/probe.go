package hostscript

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// ProbeScript joins commands into one script, so that one round trip reads a
// host. Each command runs in a subshell, unless it is shared. A line with mark ends its output on
// both streams. mark must be random, so that no content of a host can look like
// it. The standard input of a command is empty, because the rest of the script
// may follow on the input of the shell.
func ProbeScript(commands []engine.Command, mark string) string {
	const around = 100 // bytes that are added around each command
	size := around
	for _, c := range commands {
		size += len(c.Script) + 2*len(mark) + around
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString("export LC_ALL=C\n")
	for i, c := range commands {
		opens, closes := "(", ")"
		if c.Shared {
			opens, closes = "{", "}"
		}
		fmt.Fprintf(&b, "%s %s\n%s </dev/null\nrc=$?; printf '\\n%s %d %%d\\n' \"$rc\"; printf '\\n%s %d\\n' >&2\n",
			opens, strings.TrimRight(c.Script, "\n"), closes, mark, i, mark, i)
	}
	return b.String()
}

// ReadOutputs splits the output of a ProbeScript by command. A truncated reply is an
// error: facts are complete or absent.
func ReadOutputs(commands []engine.Command, mark, stdout, stderr string) (engine.Outputs, error) {
	outputs := make(engine.Outputs, len(commands))
	for i, c := range commands {
		out, rest, ok := strings.Cut(stdout, fmt.Sprintf("\n%s %d ", mark, i))
		status, rest, whole := strings.Cut(rest, "\n")
		if !ok || !whole {
			return nil, fmt.Errorf("read facts: the reply ends before the output of %q (%s)", c.Name, lastLine(stderr, mark))
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("read facts: the exit status of %q is not a number", c.Name)
		}
		errs, restErr, ok := strings.Cut(stderr, fmt.Sprintf("\n%s %d\n", mark, i))
		if !ok {
			return nil, fmt.Errorf("read facts: the diagnostics of %q are cut short", c.Name)
		}
		outputs[c.Name] = engine.Output{Stdout: strings.Clone(out), // facts keep parts of some outputs, and must not keep the others
			Stderr: errs, Code: code}
		stdout, stderr = rest, restErr
	}
	return outputs, nil
}

// maxQuoted bounds the text of a host in an error, in bytes.
const maxQuoted = 300

// lastLine returns the end of the last line that has a text, safe for a terminal.
func lastLine(s, mark string) string {
	lines := strings.Split(s, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" && !strings.HasPrefix(line, mark) {
			return textutil.Printable(textutil.Secrets{}.KeepTail(line, maxQuoted))
		}
	}
	return "no diagnostics"
}
