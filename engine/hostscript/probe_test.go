package hostscript_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
)

const mark = "=holdfast-0123456789abcdef"

// runProbe pipes the script to the standard input of a real sh, as SSH does.
func runProbe(t interface{ Fatal(...any) }, commands []engine.Command) (stdout, stderr string) {
	var out, errs bytes.Buffer
	sh := exec.Command(pathtest.Shell())
	sh.Stdin, sh.Stdout, sh.Stderr = strings.NewReader(hostscript.ProbeScript(commands, mark)), &out, &errs
	if err := sh.Run(); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String()
}

func TestProbeAgainstShell(t *testing.T) {
	padding := strings.Repeat(": what sh has not read yet\n", 5000)
	for _, tc := range []struct {
		name, script string
		want         engine.Output
	}{
		{"nothing", "true", engine.Output{}},
		{"a line", "echo a", engine.Output{Stdout: "a\n"}},
		{"no newline at the end", "printf a", engine.Output{Stdout: "a"}},
		{"only newlines", "echo; echo", engine.Output{Stdout: "\n\n"}},
		{"fails", "echo a; false", engine.Output{Stdout: "a\n", Code: 1}},
		{"exits", "echo a; exit 7; echo b", engine.Output{Stdout: "a\n", Code: 7}},
		{"exits in a brace group", "{ exit 3; }", engine.Output{Code: 3}},
		{"is killed", "kill -9 $(exec sh -c 'echo $PPID'); echo b", engine.Output{Stderr: "illed", Code: 137}},
		{"becomes another program", "exec printf x", engine.Output{Stdout: "x"}},
		{"is not there", "/nowhere/tool", engine.Output{Stderr: "tool", Code: 127}},
		{"sets -e", "set -eu; false; echo b", engine.Output{Code: 1}},
		{"closes its output", "exec >&- 2>&-; true", engine.Output{}},
		{"prints to stderr", "echo e >&2; printf f >&2; echo a", engine.Output{Stdout: "a\n", Stderr: "e\nf"}},
		{"reads its input", "cat; read -r x; echo \"[$x]\"", engine.Output{Stdout: "[]\n"}},
		{"leaves a directory and variables", "cd /; rc=9; printf() { echo fake; }; pwd", engine.Output{Stdout: "/\n"}},
		{"another mark", "printf '\\n=holdfast-fedcba 0 0\\n'", engine.Output{Stdout: "\n=holdfast-fedcba 0 0\n"}},
		{"a comment at the end", "echo a # b", engine.Output{Stdout: "a\n"}},
		{"a here document", "cat <<X\na )\nX", engine.Output{Stdout: "a )\n"}},
		{"several lines", "echo a\necho b\n\n", engine.Output{Stdout: "a\nb\n"}},
		{"bytes", `printf '\001\377\033[31m'`, engine.Output{Stdout: "\x01\xff\x1b[31m"}},
		{"locale", "echo $LC_ALL", engine.Output{Stdout: "C\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			commands := []engine.Command{{Name: "before", Script: "echo 1"}, {Name: "it", Script: tc.script}, {Name: "after", Script: padding + "echo 2"}}
			stdout, stderr := runProbe(t, commands)
			out, err := hostscript.ReadOutputs(commands, mark, stdout, stderr)
			if err != nil {
				t.Fatal(err)
			}
			got := out["it"]
			if tc.want.Code >= 127 && strings.Contains(got.Stderr, tc.want.Stderr) {
				got.Stderr = tc.want.Stderr // each sh words it differently
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if out["before"].Stdout != "1\n" || out["after"].Stdout != "2\n" || len(out) != 3 {
				t.Errorf("the others: %+v", out)
			}
		})
	}
}

// TestProbeRoundTrip checks that ReadOutputs returns the output and exit status
// of any command, byte for byte.
func TestProbeRoundTrip(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n= 0123holdfast-\\%'\"$")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		want := engine.Outputs{}
		var commands []engine.Command
		for i := range rapid.IntRange(0, 12).Draw(t, "commands") {
			o := engine.Output{Stdout: text.Draw(t, "stdout"), Stderr: text.Draw(t, "stderr"), Code: rapid.IntRange(0, 255).Draw(t, "code")}
			name := fmt.Sprint("c", i)
			want[name] = o
			commands = append(commands, engine.Command{Name: name, Script: fmt.Sprintf("printf %%s %s; printf %%s %s >&2; exit %d",
				hostscript.Quote(o.Stdout), hostscript.Quote(o.Stderr), o.Code)})
		}
		stdout, stderr := runProbe(t, commands)
		got, err := hostscript.ReadOutputs(commands, mark, stdout, stderr)
		if err != nil {
			t.Fatal(err)
		}
		for name, o := range want {
			if got[name] != o {
				t.Fatalf("%s: got %+v, want %+v", name, got[name], o)
			}
		}
	})
}

// TestProbeCutShort checks that a reply that ends early, at any byte of either
// stream, is an error.
func TestProbeCutShort(t *testing.T) {
	var commands []engine.Command
	for i := range 12 { // frame 1 must not be taken for frame 11
		commands = append(commands, engine.Command{Name: fmt.Sprint("c", i), Script: fmt.Sprintf("echo a; echo b >&2; exit %d", 100+i)})
	}
	stdout, stderr := runProbe(t, commands)
	for i := range stdout {
		if _, err := hostscript.ReadOutputs(commands, mark, stdout[:i], stderr); err == nil {
			t.Fatalf("no error for %q", stdout[:i])
		}
	}
	for i := range stderr {
		if _, err := hostscript.ReadOutputs(commands, mark, stdout, stderr[:i]); err == nil {
			t.Fatalf("no error for stderr %q", stderr[:i])
		}
	}
	if _, err := hostscript.ReadOutputs(commands, mark, stdout, stderr); err != nil {
		t.Fatal(err)
	}
}

// TestProbeSaysWhy checks that the error of an incomplete reply quotes the last
// message on stderr, without marks.
func TestProbeSaysWhy(t *testing.T) {
	commands := []engine.Command{{Name: "boot", Script: "true"}, {Name: "os", Script: "true"}}
	for stderr, want := range map[string]string{
		"":                                     `the output of "boot" (no diagnostics)`,
		"sudo: a password is required\n":       `the output of "boot" (sudo: a password is required)`,
		"lost\n" + mark + " 0\n\n" + mark + "": `the output of "boot" (lost)`,
		"\x1b[2Jw-2: free\r\u202e":             `the output of "boot" (\x1b[2Jw-2: free\r\u202e)`,
		strings.Repeat("x", 1<<20):             `the output of "boot" (…` + strings.Repeat("x", 300) + ")",
	} {
		_, err := hostscript.ReadOutputs(commands, mark, "", stderr)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.200q: %.1000v, want …%s", stderr, err, want)
		}
	}
	_, err := hostscript.ReadOutputs(commands, mark, "\n"+mark+" 0 "+strings.Repeat("7", 1<<20)+"\n", "")
	if err == nil || len(err.Error()) > 100 {
		t.Errorf("%.1000v", err)
	}
}

func FuzzReadOutputs(f *testing.F) {
	whole := "\n" + mark + " 0 0\nx\n" + mark + " 1 12\n"
	f.Add(whole, "\n"+mark+" 0\n\n"+mark+" 1\n")
	f.Add(strings.ReplaceAll(whole, "12", "-"), "")
	f.Add("", mark)
	commands := []engine.Command{{Name: "a"}, {Name: "b"}}
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		out, err := hostscript.ReadOutputs(commands, mark, stdout, stderr)
		if (err == nil) != (len(out) == len(commands)) {
			t.Fatalf("%d outputs and %v", len(out), err)
		}
		for _, o := range out {
			if !strings.Contains(stdout, o.Stdout) || !strings.Contains(stderr, o.Stderr) {
				t.Fatalf("%+v was not in the reply", o)
			}
		}
	})
}
