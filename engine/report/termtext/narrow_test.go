package termtext_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine/report/termtext"
)

// TestNarrowTable checks that no line of a table exceeds the terminal, so that it breaks no word, and that nothing is lost.
func TestNarrowTable(t *testing.T) {
	rows := func() [][]string {
		return [][]string{
			{"  HOST", "FETCHED", "STAGED IN", "DOWN FOR", "HELD FOR", "OUTCOME", "CHANGES"},
			{"  etcd-0", "1.2 GiB", "2m 30s", "1m 12s", "3m 40s", "updated", "ostree 4d1f00112233 → 5e2f00112233, kernel arguments"},
			{"  worker-with-a-name", "-", "-", "-", "12s", "failed at write", "2 files"},
		}
	}
	for _, columns := range []int{30, 40, 60, 80, 100, 200} {
		for name, write := range map[string]func(*bytes.Buffer) error{
			"long":  func(b *bytes.Buffer) error { return termtext.WriteLongTable(termtext.Sized(b, columns), rows()) },
			"plain": func(b *bytes.Buffer) error { return termtext.WriteTable(termtext.Sized(b, columns), rows()) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > columns {
					t.Errorf("%s on %d columns: %q", name, columns, line)
				}
			}
			text := strings.Join(strings.Fields(b.String()), " ")
			for _, want := range []string{"etcd-0", "1.2 GiB", "2m 30s", "3m 40s", "kernel arguments", "failed at write", "2 files"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s on %d columns lacks %q:\n%s", name, columns, want, b.String())
				}
			}
		}
	}
}
