package browser_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The release of axe-core, and the digest of its file.
const (
	axePackage = "axe-core@4.14.1"
	axeDigest  = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
)

// fetchAxe returns the text of axe-core, which checks how accessible a page is.
// Without npm or its registry, it returns "".
func fetchAxe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "npm", "pack", "--silent", axePackage)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("not checked with axe-core: npm pack %s: %v\n%s", axePackage, err, out)
		return ""
	}
	text, err := readFromPackage(filepath.Join(dir, strings.TrimSpace(string(out))), "package/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != axeDigest {
		t.Fatalf("axe.min.js of %s has the digest %x, not %s", axePackage, sum, axeDigest)
	}
	return string(text)
}

// mostAxe is the longest text of axe-core that is read.
const mostAxe = 16 << 20

// readFromPackage returns a file of a package of npm.
func readFromPackage(archive, name string) ([]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(unpacked)
	for {
		h, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", name, archive, err)
		}
		if h.Name == name {
			return io.ReadAll(io.LimitReader(files, mostAxe))
		}
	}
}

// axeFault is a rule that a page breaks.
type axeFault struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, FailureSummary string }
}

// checkAccess checks that axe-core finds no serious fault, also in open folds.
func (b *tab) checkAccess(axe, scheme string) {
	b.t.Helper()
	if axe == "" {
		return
	}
	b.failOnError(chromedp.Do(b.ctx, chromedp.Evaluate[chromedp.Void](axe)))
	evaluate[bool](b, `document.querySelectorAll("details").forEach((e, i) => e.open = i < 3), true`)
	faults := evaluate[[]axeFault](b, `axe.run({preload: false}).then(r => r.violations.map(v => ({
		ID: v.id, Impact: v.impact, Help: v.help,
		Nodes: v.nodes.slice(0, 3).map(n => ({HTML: n.html.slice(0, 200), FailureSummary: n.failureSummary.slice(0, 300)}))})))`)
	for _, f := range faults {
		text := fmt.Sprintf("axe-core, %s scheme: %s: %s: %s: %+v", scheme, f.Impact, f.ID, f.Help, f.Nodes)
		if f.Impact == "serious" || f.Impact == "critical" {
			b.t.Error(text)
		} else {
			b.t.Log(text)
		}
	}
}
