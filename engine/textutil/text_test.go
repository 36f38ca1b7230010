package textutil

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nÄ 日本 ✓ é", "a\tb\nÄ 日本 ✓ é"},
		{"escape sequence", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"carriage return", "bad\rgood", `bad\rgood`},
		{"C1 as a character", "\u009b31m", `\x9b31m`},
		{"C1 as a byte", "\x9b31m", "\ufffd31m"},
		{"delete and bell", "\x7f\a\b\x00", `\x7f\x07\x08\x00`},
		{"right-to-left override", "\u202egpj.exe", `\u202egpj.exe`},
		{"isolates and marks", "\u2066\u2069\u200e\u200f\u061c", `\u2066\u2069\u200e\u200f\u061c`},
		{"line separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"invisible", "a\u200bb\ufeffc\u00ad", `a\u200bb\ufeffc\xad`},
		{"tag characters", "\U000e0041", `\U000e0041`},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"backslash", `C:\x1b`, `C:\x1b`},
	} {
		if got := Printable(c.in); got != c.want {
			t.Errorf("%s: Printable(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\a\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Printable(%q) = %q is not UTF-8", s, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}); i >= 0 {
			t.Fatalf("Printable(%q) = %q has a control character at %d", s, got, i)
		}
		if Printable(got) != got {
			t.Fatalf("Printable is not stable for %q", s)
		}
	})
}

func BenchmarkPrintable(b *testing.B) {
	for b.Loop() {
		Printable("create file /etc/containers/registries.d/mirror-0123.yaml")
	}
}
