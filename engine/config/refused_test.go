package config

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRefusedSourcesReferToNothing checks that a refused source is not taken for a reference to decoded contents: such a
// reference is a data: URL with a number, which a document can have, too.
func TestRefusedSourcesReferToNothing(t *testing.T) {
	hash := `,"verification":{"hash":"` + hashOf("other") + `"}`
	secret := `{"path":"/opt/secret","contents":{"source":"data:,TOP%20SECRET"}}`
	for _, source := range []string{`"data:,-1"` + hash, `"data:,0"` + hash, `"-1"`, `"0"`} {
		doc := `{"ignition":{"version":"3.4.0"},"storage":{"files":[` + secret + `,{"path":"/etc/containers/registries.conf","contents":{"source":` + source + `}}]}}`
		_, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"}})
		var got Errors
		if !errors.As(err, &got) || len(got) != 1 || !strings.Contains(got[0].Place.Path, "storage.files[1].contents.") {
			t.Errorf("%s: %v", source, err)
		}
	}
}
