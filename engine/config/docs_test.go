package config

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// The documents in the documentation load without errors and warnings.
func TestDocumentedDocumentsLoad(t *testing.T) {
	text, err := os.ReadFile("../../docs/configs.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	for _, block := range blocks {
		doc, _, _ := strings.Cut(block, "```")
		loaded, err := Load(Source{FS: fstest.MapFS{"x.yaml": {Data: []byte(doc)}}, Paths: []string{"x.yaml"}})
		if err != nil || len(loaded.Warnings) > 0 {
			t.Errorf("%v %v\n%s", err, loaded.Warnings, doc)
		}
	}
	if len(blocks) < 2 {
		t.Errorf("only %d documents", len(blocks))
	}
}
