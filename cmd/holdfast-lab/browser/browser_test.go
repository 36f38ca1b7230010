// Package browser_test opens reports in Chromium. It is a module of its own, so
// that the product does not depend on the driver of the browser.
package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// startBrowser starts a Chromium that ends with the test.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no browser; Debian's package chromium has one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(1280, 800))
	if os.Geteuid() == 0 { // the sandbox of Chromium does not work for root
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return ctx
}

// tab is a tab of the browser with one page.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	faults   []string // of the console, of the policy of the page, of scripts
}

const tabTimeout = 10 * time.Minute

// openTab opens a file in a new tab.
func openTab(t *testing.T, browser context.Context, file string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t}
	if err := chromedp.Listen(ctx, b.noteEvent); err != nil {
		t.Fatal(err)
	}
	b.ctx, cancel = context.WithTimeout(ctx, tabTimeout)
	t.Cleanup(cancel)
	_, err := chromedp.Call(b.ctx, audits.Enable, chromedp.Void{})
	b.failOnError(err)
	b.failOnError(chromedp.Do(b.ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate("file://"+file)))
	return b
}

func (b *tab) failOnError(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) noteEvent(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fault := func(format string, args ...any) { b.faults = append(b.faults, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		fault("console.%s", e.Type)
	case *runtime.EventExceptionThrown:
		fault("exception: %s", e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		fault("%s: %s", e.Entry.Level, e.Entry.Text)
	case *audits.EventIssueAdded:
		fault("issue: %s", e.Issue.Code)
	case *page.EventJavascriptDialogOpening:
		fault("dialog: %s", e.Message)
	}
}

// checkQuiet checks that the tab has requested only the file, and that the browser
// had nothing to report.
func (b *tab) checkQuiet(file string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || b.requests[0] != "file://"+file {
		b.t.Errorf("requests: %s", strings.Join(b.requests, ", "))
	}
	for _, fault := range b.faults {
		b.t.Error(fault)
	}
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.80s: %v", expression, err)
	}
	return value
}

// resizePage sets the width of the page, in CSS pixels.
func (b *tab) resizePage(width int64) {
	b.t.Helper()
	b.failOnError(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 800)))
}

// emulateMedium shows the page on a medium, in a colour scheme.
func (b *tab) emulateMedium(medium, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	b.failOnError(err)
}
