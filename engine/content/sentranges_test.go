package content

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestBytesThatAreSentAgain checks that overlapping ranges of a file count as sent again, and other ranges do not. Of files
// that were sent long ago, nothing is kept.
func TestBytesThatAreSentAgain(t *testing.T) {
	t.Parallel()
	const text = "0123456789"
	for name, x := range map[string]struct {
		reads [][2]int64 // offset and length
		again int64
	}{
		"once":                       {[][2]int64{{0, 10}}, 0},
		"twice":                      {[][2]int64{{0, 10}, {0, 10}}, 10},
		"goes on after a cut":        {[][2]int64{{0, 4}, {4, 6}}, 0},
		"begins anew after a cut":    {[][2]int64{{0, 4}, {0, 10}}, 4},
		"goes on before the cut":     {[][2]int64{{0, 6}, {4, 6}}, 2},
		"goes on from another run":   {[][2]int64{{5, 5}, {0, 5}}, 0},
		"begins anew, another run":   {[][2]int64{{5, 5}, {0, 10}}, 5},
		"three times":                {[][2]int64{{0, 5}, {0, 5}, {0, 5}}, 10},
		"a gap is not counted twice": {[][2]int64{{0, 2}, {8, 2}, {0, 10}}, 2},
	} {
		s := newSentRanges()
		var all int64
		for _, r := range x.reads {
			f := &countingFile{ReadSeeker: strings.NewReader(text), name: "file", sent: s}
			if _, err := f.Seek(r[0], io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, f, r[1]); err != nil {
				t.Fatal(err)
			}
			all += r[1]
		}
		if bytes, again := s.countBytes(); bytes != all || again != x.again {
			t.Errorf("%s: %d bytes, %d of them again; want %d and %d", name, bytes, again, all, x.again)
		}
	}
	s := newSentRanges()
	for i := range maxRanges + 1 {
		s.addRange(fmt.Sprint("file ", i), 0, 1)
	}
	s.addRange("file 0", 0, 1)
	if bytes, again := s.countBytes(); bytes != maxRanges+2 || again != 0 || len(s.files) != maxRanges || len(s.order) != maxRanges {
		t.Errorf("%d bytes, %d again, %d files", bytes, again, len(s.files))
	}
}
