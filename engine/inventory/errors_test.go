package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine/inventory"
)

// TestMistakesStayReadable checks that the errors of a file full of control
// characters stay short, and that a very long line has an error with a place.
func TestMistakesStayReadable(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"binary":  {"\x7fELF\x00\xff\xfe" + strings.Repeat("\xc6\x16", 4000), "site/a.hcl is not text in UTF-8"},
		"control": {strings.Repeat("\x16\n", 4000), "site/a.hcl:21:1: 3981 more errors from here on"},
		"long":    {`site "s" { ` + strings.Repeat("x", 9000) + " = 1 }", "site/a.hcl:1:12: unknown argument"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.src)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%.2000v", err)
			}
			if n := len(err.Error()); n > 10_000 && name != "long" {
				t.Errorf("%d bytes:\n%.2000v", n, err)
			}
		})
	}
}

// TestLongLine checks that an error shows only the part of a long line around
// the mistake, with the mark below the mistake.
func TestLongLine(t *testing.T) {
	for _, at := range []int{0, 30, 500, 950} {
		items := make([]string, 1000)
		for i := range items {
			items[i] = "1"
		}
		items[at] = "nono"
		_, err := load(t, fmt.Sprintf("site \"s\" {}\nlocals { a = [%s] }\n", strings.Join(items, ",")))
		lines := strings.Split(fmt.Sprint(err), "\n")
		if len(lines) != 3 || len([]rune(lines[1])) > 220 {
			t.Fatalf("%d: %v", at, err)
		}
		mark := strings.Index(lines[2], "^")
		if got := []rune(lines[1])[mark:]; string(got[:4]) != "nono" || !strings.HasSuffix(lines[2], " ^^^^") {
			t.Errorf("%d: the mark is elsewhere:\n%v", at, err)
		}
	}
}

// TestLen checks the number of errors.
func TestLen(t *testing.T) {
	_, err := load(t, "site \"s\" { x = 1 }\npool \"p\" { y = 1 }\n")
	if e, ok := err.(*inventory.Errors); !ok || e.Len() != 2 {
		t.Errorf("%v", err)
	}
}
