package hostscript

import (
	"os/exec"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "''"},
		{"plain-word_1.2/3:4@5%6+7,8", "plain-word_1.2/3:4@5%6+7,8"},
		{"two words", "'two words'"},
		{"it's", `'it'\''s'`},
		{"a=b", "'a=b'"},
		{"~root", "'~root'"},
		{"$(reboot)", "'$(reboot)'"},
		{"line\nline", "'line\nline'"},
	} {
		if got := Quote(c.in); got != c.want {
			t.Errorf("Quote(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

// FuzzQuote checks that a real shell expands a quoted string to the string
// itself.
func FuzzQuote(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("no sh")
	}
	for _, s := range []string{"", "'", "''", `\`, `\'`, "`id`", "$HOME", "${x:?}", "!!", "*", "~", "#", "-n", "a\n", "\n", "\xff\xfe", "é", "a;b&c|d<e>f", "\x01\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "\x00") || len(s) > 64<<10 {
			t.Skip()
		}
		cmd := exec.Command(sh)
		cmd.Stdin = strings.NewReader("printf %s " + Quote(s))
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != s {
			t.Errorf("sh made %q of %q (quoted %s): %v", out, s, Quote(s), err)
		}
	})
}
