package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// ProbeScript joins commands into one script, so that a host is read in one
// round trip. Each command runs in a subshell; its output on both streams is
// closed by a line with mark, which must be random, so that no content of a
// host can be taken for it.
func ProbeScript(commands []Command, mark string) string {
	var b strings.Builder
	b.WriteString("export LC_ALL=C\n")
	for i, c := range commands {
		fmt.Fprintf(&b, "( %s\n)\nrc=$?; printf '\\n%s %d %%d\\n' \"$rc\"; printf '\\n%s %d\\n' >&2\n",
			strings.TrimRight(c.Script, "\n"), mark, i, mark, i)
	}
	return b.String()
}

// ReadOutputs takes apart what a ProbeScript printed. A reply that is cut
// short is an error: facts are whole or they are none.
func ReadOutputs(commands []Command, mark, stdout, stderr string) (Outputs, error) {
	outputs := make(Outputs, len(commands))
	for i, c := range commands {
		out, tail, rest, ok := cutFrame(stdout, mark, i)
		if !ok {
			return nil, fmt.Errorf("read facts: the reply ends before the output of %q (%s)", c.Name, lastLine(stderr))
		}
		code, err := strconv.Atoi(tail)
		if err != nil {
			return nil, fmt.Errorf("read facts: exit status of %q: %w", c.Name, err)
		}
		errs, _, restErr, ok := cutFrame(stderr, mark, i)
		if !ok {
			return nil, fmt.Errorf("read facts: the diagnostics of %q are cut short", c.Name)
		}
		outputs[c.Name] = Output{Stdout: out, Stderr: errs, Code: code}
		stdout, stderr = rest, restErr
	}
	return outputs, nil
}

// cutFrame splits s at the closing line of frame i into content, what follows
// the number on that line, and the rest.
func cutFrame(s, mark string, i int) (content, tail, rest string, ok bool) {
	content, rest, ok = strings.Cut(s, fmt.Sprintf("\n%s %d", mark, i))
	if !ok {
		return "", "", "", false
	}
	tail, rest, _ = strings.Cut(rest, "\n")
	return content, strings.TrimSpace(tail), rest, true
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
