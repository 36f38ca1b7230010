package rollout

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// gateAnswer is one answer of a gate.
type gateAnswer struct {
	problem string // "": the answer is good
	detail  string // untrusted text of the answer
	command string // the command, or the request
	stderr  string
	final   bool // another question would get the same answer
	lost    bool // the host is unreachable
}

func (a gateAnswer) isGood() bool { return a.problem == "" }

func (a gateAnswer) problemLine() string {
	if detail := firstPrintableLine(a.detail); detail != "" {
		return textutil.Printable(a.problem) + ": " + detail
	}
	return textutil.Printable(a.problem)
}

// comparisonKey tells answers apart. It ignores numbers in details: counts and local ports differ
// each time.
func (a gateAnswer) comparisonKey() string {
	return a.problem + "\n" + strings.Join(strings.FieldsFunc(firstPrintableLine(a.detail), unicode.IsDigit), "#")
}

func (a gateAnswer) toFailure(cause string) *engine.Failure {
	f := &engine.Failure{Cause: cause, Command: a.command, Stderr: textutil.Printable(keepTail(a.stderr, 4096))}
	if a.lost {
		f.Kind = KindUnreachable
	}
	return f
}

// longDetail is the number of characters of an untrusted text that fit into a line.
const longDetail = 200

// firstPrintableLine returns "" for a web page, whose first line has no information.
func firstPrintableLine(text string) string {
	line := textutil.Printable(firstLine(text[:min(len(text), 4*longDetail)]))
	if strings.HasPrefix(line, "<") {
		return ""
	}
	if letters := []rune(line); len(letters) > longDetail {
		return string(letters[:longDetail]) + "…"
	}
	return line
}

func (r *Run) askOnce(ctx context.Context, hp engine.HostPlan, s engine.Step) gateAnswer {
	g := *s.Do.Gate
	h, _ := r.Inventory.Host(hp.Host)
	about := gateSubject{host: hp.Host, address: cmp.Or(h.Address, hp.Host), pool: hp.Pool}
	switch {
	case g.HostCommand != "":
		return r.askHost(ctx, about, s)
	case g.HTTP != nil:
		return r.askWeb(ctx, about, *g.HTTP)
	case g.PromQL != nil:
		return r.askPrometheus(ctx, about, *g.PromQL)
	}
	var f *engine.Failure
	if err := r.runOnBastion(ctx, hp, g.Command); errors.As(err, &f) {
		return gateAnswer{problem: f.Cause, detail: f.Stderr, command: g.Command, stderr: f.Stderr}
	}
	return gateAnswer{command: g.Command}
}

func (r *Run) askHost(ctx context.Context, x gateSubject, s engine.Step) gateAnswer {
	command := s.Do.Gate.HostCommand
	text := fmt.Sprintf("export HOLDFAST_HOST=%s HOLDFAST_ADDRESS=%s HOLDFAST_POOL=%s HOLDFAST_RUN=%s\n%s\n",
		hostscript.Quote(x.host), hostscript.Quote(x.address), hostscript.Quote(x.pool), hostscript.Quote(r.ID), command)
	reply, err := r.runIdempotent(ctx, x.host, Script{Text: text, Op: s.Do})
	switch {
	case err != nil:
		return gateAnswer{problem: "the host does not answer", detail: err.Error(), command: command, stderr: reply.Stderr, lost: true}
	case reply.Code != 0:
		return gateAnswer{problem: fmt.Sprintf("exit status %d", reply.Code), detail: cmp.Or(strings.TrimSpace(reply.Stderr), reply.Stdout), command: command, stderr: reply.Stderr}
	}
	return gateAnswer{command: command}
}

func (r *Run) askWeb(ctx context.Context, x gateSubject, g engine.HTTPGate) gateAnswer {
	shown := withoutUser(x.fillURL(g.URL, asIs, asIs))
	a := gateAnswer{command: "GET " + shown}
	match, err := regexp.Compile(g.Match)
	if err != nil {
		a.problem, a.detail, a.final = "match is no regular expression", err.Error(), true
		return a
	}
	status, body, err := r.Web.Get(ctx, x.fillURL(g.URL, url.PathEscape, url.QueryEscape))
	a.detail = string(body)
	switch {
	case err != nil:
		return a.withConnectionError(shown, err)
	case g.Status != 0 && status != g.Status:
		a.problem = fmt.Sprintf("HTTP %d from %s, not %d", status, shown, g.Status)
	case g.Status == 0 && status/100 != 2:
		a.problem = describeHTTPStatus(status, shown)
	case !match.Match(body):
		a.problem = fmt.Sprintf("HTTP %d from %s, and the body does not match %q", status, shown, g.Match)
	default:
		a.detail = ""
	}
	return a
}

func describeHTTPStatus(status int, who string) string {
	text := fmt.Sprintf("HTTP %d from %s", status, who)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		text += ", and gates send no password; a command can, such as curl --netrc-file"
	}
	return text
}

func (a gateAnswer) withConnectionError(who string, err error) gateAnswer {
	a.problem, a.detail = "no answer from "+who, err.Error()
	if rest, ok := strings.CutPrefix(a.detail, "GET "); ok {
		if _, cause, ok := strings.Cut(rest, ": "); ok {
			a.detail = cause
		}
	}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		a.problem += ", as the bastion does not know who signed its certificate; SSL_CERT_FILE can name a file of those to trust"
	}
	return a
}
