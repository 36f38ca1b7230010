package image

import (
	"os"
	"testing"
)

func TestPayloads(t *testing.T) {
	for name, c := range map[string]struct {
		payload     Payload
		total       int64
		files, most int
	}{
		"equal":        {EqualFiles(12 << 20), 12 << 20, 3, 5 << 20},
		"nothing":      {EqualFiles(0), 0, 0, 0},
		"an update":    {MixedFiles(500 << 20), 500 << 20, 4000, 50 << 20},
		"a small one":  {MixedFiles(40 << 20), 40 << 20, 600, 124 << 10},
		"of one large": {MixedFiles(120 << 20), 120 << 20, 1000, 50 << 20},
	} {
		most := int64(0)
		for _, n := range c.payload {
			most = max(most, n)
		}
		if got := c.payload.totalSize(); got != c.total || len(c.payload) < c.files || int(most) != c.most {
			t.Errorf("%s: %d bytes in %d files of at most %d", name, got, len(c.payload), most)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	if err := (Payload{3, 5}).writeFiles(dir); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"blob.0": 3, "blob.1": 5} {
		if info, err := os.Stat(dir + "/" + name); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
