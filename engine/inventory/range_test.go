package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// TestExpand checks that a range expands to the numbers of its parts, in order.
// Each number has at least the width of the first number of its part.
func TestExpand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts, want []string
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			from := rapid.IntRange(0, 1200).Draw(t, "from")
			n := rapid.IntRange(1, 30).Draw(t, "hosts")
			last := from + n - 1
			width := 1
			if rapid.Bool().Draw(t, "zeros") {
				width = max(4, len(strconv.Itoa(last)))
			}
			for i := from; i <= last; i++ {
				want = append(want, fmt.Sprintf("%0*d", width, i))
			}
			part := fmt.Sprintf("%0*d", width, from)
			if n > 1 || rapid.Bool().Draw(t, "written as a range") {
				part += fmt.Sprintf("-%0*d", width, last)
			}
			parts = append(parts, part)
		}
		got, err := expandRange(strings.Join(parts, rapid.SampledFrom([]string{",", ", "}).Draw(t, "comma")))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %v, %v; want %v", parts, got, err, want)
		}
	})
}

// TestNamesOfARange checks that name replaces LABEL-NUMBER, and that hosts and addresses keep their numbers.
func TestNamesOfARange(t *testing.T) {
	text := `site "s" {}
pool "w" {}
hosts "www" {
  range   = "08-10"
  name    = "www${id}.example.com"
  address = "10.0.0.${id + 0}"
  pool    = "w"
}
`
	loaded, err := Load(Source{FS: fstest.MapFS{"a.hcl": {Data: []byte(text)}}, Paths: []string{"a.hcl"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range loaded.Inventory.Hosts {
		got = append(got, h.Name+" "+h.Address)
	}
	if want := []string{"www08.example.com 10.0.0.8", "www09.example.com 10.0.0.9", "www10.example.com 10.0.0.10"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
