// Package expression evaluates the expressions of an inventory: the functions that it may call, its loops and its
// sensitive values. It bounds how much memory and time they use.
package expression

import (
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine/textutil"
)

// Evaluator holds the state that the expressions of one inventory share.
type Evaluator struct {
	FS        fs.FS                       // holds the files that functions read
	Root      string                      // path of FS
	Env       func(string) (string, bool) // os.LookupEnv
	Home      string                      // replaces ~
	Bounds    Bounds
	Read      []string // files that functions have read, by their names in FS
	Sensitive []string // values that must not appear in any output

	calls         int             // of functions
	resultBytes   int             // bytes of all results of functions and templates
	resultItems   int             // values of all results of functions
	rounds        int             // of loops
	tooManyRounds *hcl.Diagnostic // the error, once loops had too many rounds
	tooMuchText   *hcl.Diagnostic // the error, once there were too many bytes
}

// Bounds limit a whole inventory.
type Bounds struct {
	Items  int // values in all results of functions
	Rounds int // of all loops
	Bytes  int // of all results of functions and templates
}

// DefaultBounds are far above the needs of real inventories.
var DefaultBounds = Bounds{Items: 20_000_000, Rounds: 5_000_000, Bytes: 1 << 30}

// AbsolutePath resolves a path of the inventory. ~ is the home; other paths are relative to the file that names them.
func (e *Evaluator) AbsolutePath(p string, in hcl.Range) string {
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		return path.Join(e.Home, strings.TrimPrefix(p, "~"))
	case path.IsAbs(p):
		return path.Clean(p)
	}
	return path.Join(path.Dir(in.Filename), p)
}

// FormatDiagnostic returns an error in one line, without its place.
func FormatDiagnostic(d *hcl.Diagnostic) string {
	s := strings.TrimSuffix(d.Summary, ".")
	if d.Detail != "" {
		s += ": " + strings.TrimSuffix(strings.ReplaceAll(d.Detail, "\n", " "), ".")
	}
	return textutil.Printable(s)
}
