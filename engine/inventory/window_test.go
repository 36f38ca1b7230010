package inventory

import (
	"testing"
	"testing/fstest"
)

// TestWindowLocation checks the time zone of a window, which the JSON of an
// inventory does not show.
func TestWindowLocation(t *testing.T) {
	l, err := Load(Source{FS: fstest.MapFS{"a.hcl": {Data: []byte(`
site "s" {
  window {
    from     = "22:00"
    to       = "04:00"
    timezone = "Europe/Berlin"
  }
}
pool "a" {}
pool "b" {
  window {
    from = "22:00"
    to   = "04:00"
  }
}
`)}}, Paths: []string{"a.hcl"}})
	if err != nil {
		t.Fatal(err)
	}
	if w := l.Inventory.Pools[0].Windows; len(w) != 1 || w[0].Location.String() != "Europe/Berlin" {
		t.Errorf("the site's window: %+v", w)
	}
	if w := l.Inventory.Pools[1].Windows; len(w) != 1 || w[0].Location != nil {
		t.Errorf("a window without a time zone: %+v", w)
	}
}
