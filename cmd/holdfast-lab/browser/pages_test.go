package browser_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// makePages has the tests of the report write their pages into a folder. With
// HOLDFAST_PAGES=FOLDER, pages, screenshots and prints stay there.
func makePages(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HOLDFAST_PAGES")
	if dir == "" {
		dir = t.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./engine/report/htmlview")
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "HOLDFAST_PAGES="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make the pages: %v\n%s", err, out)
	}
	return dir
}

// mostPrinted returns the number of sheets of A4 that a page may take.
func mostPrinted(name string) int {
	switch {
	case strings.Contains(name, "1000"), strings.Contains(name, "ManyHosts"):
		return 60
	case strings.Contains(name, "200"):
		return 20
	}
	return 8
}

// TestPages opens each page that the tests of the report make.
func TestPages(t *testing.T) {
	browser := startBrowser(t)
	axe := fetchAxe(t)
	files, err := filepath.Glob(filepath.Join(makePages(t), "*.html"))
	if err != nil || len(files) < 25 {
		t.Fatalf("%d pages: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		t.Run(name, func(t *testing.T) {
			b := openTab(t, browser, file)
			b.checkPage(strings.TrimSuffix(file, ".html"))
			if !strings.Contains(name, "Hostile") { // their texts make long pages
				b.checkPaper(strings.TrimSuffix(file, ".html")+".pdf", mostPrinted(name))
			}
			b.checkQuiet(file)
			for _, scheme := range []string{"light", "dark"} {
				b.emulateMedium("screen", scheme)
				b.checkAccess(axe, scheme)
			}
		})
	}
}

// checkPage checks the page of a file, whose name is given without its ending, on
// a wide and on a narrow screen.
func (b *tab) checkPage(file string) {
	b.t.Helper()
	text, err := os.ReadFile(file + ".html")
	b.failOnError(err)
	b.checkDocument(string(text))
	b.checkSums(file + ".sums")
	b.checkKeyboard()
	evaluate[bool](b, `(document.activeElement.blur(), true)`) // its outline is not for the picture
	for _, screen := range []struct {
		name  string
		width int64
	}{{"wide", 1280}, {"narrow", 360}} {
		b.resizePage(screen.width)
		b.checkLayout()
		b.failOnError(os.WriteFile(file+"-"+screen.name+".png", b.takeScreenshot(), 0o600))
	}
}

// checkDocument checks that the browser finds the elements and texts that an XML
// parser finds: no text of a journal became an element.
func (b *tab) checkDocument(text string) {
	b.t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	var elements []string
	var texts strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		b.failOnError(err)
		switch token := token.(type) {
		case xml.StartElement:
			elements = append(elements, token.Name.Local)
		case xml.CharData:
			texts.Write(token)
		}
	}
	if found := evaluate[[]string](b, `[...document.querySelectorAll("*")].map(e => e.localName)`); !slices.Equal(found, elements) {
		b.t.Errorf("the browser finds %d elements, not %d", len(found), len(elements))
	}
	words := strings.Join(strings.Fields(texts.String()), " ")
	if found := strings.Join(strings.Fields(evaluate[string](b, `document.documentElement.textContent`)), " "); found != words {
		b.t.Errorf("the browser finds a text of %d bytes, not of %d", len(found), len(words))
	}
	if n := evaluate[int](b, `[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on|^(src|style)$/.test(a.name))).length`); n != 0 {
		b.t.Errorf("%d elements have attributes that run or load something", n)
	}
}

// checkSums checks that the page shows the sums of the summary, if there are any.
func (b *tab) checkSums(file string) {
	b.t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if shown := evaluate[string](b, `document.getElementById("totals").innerText`); shown != string(want) {
		b.t.Errorf("the page shows %q, not %q", shown, want)
	}
}

// mostStops limits the elements that Tab reaches.
const mostStops = 400

// checkKeyboard checks that Tab reaches each link, fold and scrolled part, and
// that Enter opens and closes a fold.
func (b *tab) checkKeyboard() {
	b.t.Helper()
	want := evaluate[int](b, `document.querySelectorAll("a[href],summary,[tabindex]").length`)
	folds := evaluate[int](b, `document.querySelectorAll("summary").length`)
	if want > mostStops {
		b.t.Fatalf("the page has %d stops of the keyboard", want)
	}
	reached := 0
	for ; reached < want; reached++ {
		b.failOnError(chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Tab)))
		switch evaluate[string](b, `(e => e.dataset.reached ? "again" : (e.dataset.reached = 1, e.localName))(document.activeElement)`) {
		case "again", "body":
			b.t.Errorf("Tab reaches %d of %d elements", reached, want)
			return
		case "summary":
			folds--
			for _, open := range []bool{true, false} {
				b.failOnError(chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Enter)))
				if evaluate[bool](b, `document.activeElement.parentElement.open`) != open {
					b.t.Errorf("Enter does not change a fold")
				}
			}
		}
	}
	if folds != 0 {
		b.t.Errorf("Tab does not reach %d folds", folds)
	}
}

// The names of elements that reach beyond the page, and of labels that cover each
// other.
const (
	findWide = `(() => {
	const width = document.documentElement.clientWidth, wide = [];
	for (const e of document.body.querySelectorAll("*")) {
		const r = e.getBoundingClientRect();
		if (r.width > 0 && (r.right > width + 1 || r.left < -1) && !e.parentElement.closest(".scroll,pre"))
			wide.push(e.localName + " " + (e.className.baseVal ?? e.className) + " " + e.textContent.slice(0, 40) + " " + Math.round(r.left) + "-" + Math.round(r.right));
	}
	if (document.scrollingElement.scrollWidth > width) wide.push("the page: " + document.scrollingElement.scrollWidth);
	return wide.slice(0, 5);
})()`
	findCovered = `(() => {
	const covered = [];
	for (const svg of document.querySelectorAll(".axis,thead svg")) {
		let end = -1e9;
		for (const e of svg.querySelectorAll("text")) {
			const r = e.getBoundingClientRect();
			if (r.width == 0) continue;
			if (r.left < end + 2) covered.push(e.textContent);
			end = r.right;
		}
	}
	return covered.slice(0, 5);
})()`
)

// checkLayout checks, with all folds open and closed, that the page does not have to
// be scrolled sideways, and that the labels of an axis do not cover each other.
func (b *tab) checkLayout() {
	b.t.Helper()
	width := evaluate[int](b, `innerWidth`)
	for _, open := range []string{"true", "false"} {
		evaluate[bool](b, `document.querySelectorAll("details").forEach(e => e.open = `+open+`), true`)
		for _, text := range evaluate[[]string](b, findWide) {
			b.t.Errorf("%d pixels: wider than the page: %s", width, text)
		}
		for _, text := range evaluate[[]string](b, findCovered) {
			b.t.Errorf("%d pixels: the label %s covers the one before it", width, text)
		}
	}
}

// highest is the number of pixels from the top that a picture of a page has at most.
const highest = 5000

// takeScreenshot returns a picture of the page.
func (b *tab) takeScreenshot() []byte {
	b.t.Helper()
	height := min(evaluate[int](b, `document.documentElement.scrollHeight`), highest)
	width := evaluate[int](b, `innerWidth`)
	b.failOnError(chromedp.Do(b.ctx, chromedp.EmulateViewport(int64(width), int64(height))))
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.failOnError(err)
	b.resizePage(int64(width))
	return picture
}

var sheet = regexp.MustCompile(`/Type\s*/Page\b`)

// checkPaper checks that the page is black and white on paper, also in a dark
// scheme, has all of its rows, and does not take too many sheets.
func (b *tab) checkPaper(file string, most int) {
	b.t.Helper()
	b.resizePage(1280)
	b.emulateMedium("print", "dark")
	if n := evaluate[int](b, `[...document.querySelectorAll("details *")].filter(e => e.localName != "rect" && e.localName != "text" && e.getClientRects().length == 0).length`); n != 0 {
		b.t.Errorf("%d elements in folds are not printed", n)
	}
	if n := evaluate[int](b, `[...document.querySelectorAll("*")].filter(e => e.clientHeight > 0 && getComputedStyle(e).overflowY == "auto" && e.scrollHeight > e.clientHeight + 1).length`); n != 0 {
		b.t.Errorf("%d elements are cut on paper", n)
	}
	b.checkGrey(b.takeScreenshot())
	b.emulateMedium("", "light")
	printed, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	b.failOnError(err)
	b.failOnError(os.WriteFile(file, printed, 0o600))
	if n := len(sheet.FindAll(printed, -1)); n == 0 || n > most {
		b.t.Errorf("%d sheets of paper, more than %d", n, most)
	} else {
		b.t.Logf("%d sheets of paper", n)
	}
}

// checkGrey checks that a picture has no colours, and is neither empty nor dark.
func (b *tab) checkGrey(picture []byte) {
	b.t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	b.failOnError(err)
	pixels, ok := decoded.(*image.RGBA)
	if !ok {
		b.t.Fatalf("a screenshot is a %T", decoded)
	}
	dark := 0
	for i := 0; i < len(pixels.Pix); i += 4 {
		red, green, blue := pixels.Pix[i], pixels.Pix[i+1], pixels.Pix[i+2]
		if red != green || green != blue {
			b.t.Fatalf("a colour on paper, at %d, %d", i%pixels.Stride/4, i/pixels.Stride)
		}
		if red < 128 {
			dark++
		}
	}
	if size := len(pixels.Pix) / 4; dark > size/4 || dark < size/1000 {
		b.t.Errorf("%d of %d pixels are dark on paper", dark, size)
	}
}
