package htmlview

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the template and the styles of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"holdfast/engine/textutil"
	"holdfast/engine/wire"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText string

// contentPolicy lets a browser load nothing but the styles of the page, which
// it finds by their digest: no script, no image, no font, no frame, no form.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(styleText))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"styles": func() template.CSS { return template.CSS(styleText) }, // a constant of the program
	"policy": contentPolicy,
	"join":   func(list []string) string { return strings.Join(list, ", ") },
}).Parse(pageText))

// maxText is the length in bytes at which a text of the page is cut.
const maxText = 8 << 10

// cleanText makes a text of a host harmless: control characters, invisible
// characters and changes of the direction of writing become escapes.
func cleanText(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("… (cut; it has %d bytes)", len(s))
	}
	return textutil.Printable(s)
}

// WritePage writes the page of the run.
func (v *View) WritePage(w io.Writer, j Journal) error {
	p := wire.RewriteTexts(v.buildPage(j), true, cleanText)
	b := bufio.NewWriter(w)
	if err := pageTemplate.Execute(b, p); err != nil {
		return err
	}
	return b.Flush()
}
