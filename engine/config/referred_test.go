package config

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// Configs may refer to each other up to a limit.
func TestReferredDepth(t *testing.T) {
	doc := `{"ignition":{"version":"3.4.0"},"storage":{"directories":[{"path":"/etc/deep"}]}}`
	for depth := range maxReferredDepth + 2 {
		loaded, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"}})
		switch isAllowed := depth <= maxReferredDepth; {
		case isAllowed && (err != nil || len(loaded.Config.Directories) != 1 || len(loaded.Documents) != 1):
			t.Errorf("depth %d: %v %+v", depth, err, loaded.Documents)
		case !isAllowed && (err == nil || !strings.HasPrefix(err.Error(), "x.ign:1:51: ") || !strings.Contains(err.Error(), "more than 8 deep")):
			t.Errorf("depth %d: %v", depth, err)
		}
		doc = fmt.Sprintf(`{"ignition":{"version":"3.4.0","config":{"merge":[{"source":"data:;base64,%s"}]}}}`, base64.StdEncoding.EncodeToString([]byte(doc)))
	}
}
