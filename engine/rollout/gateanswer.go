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

// answer is what a gate was answered.
type answer struct {
	what    string // is wrong; "": nothing, the answer is good
	detail  string // of that, in the words of who answered, which are untrusted
	command string // that was run, or what was asked
	stderr  string
	final   bool // it would be the same if asked again
	lost    bool // the host was not reached
}

func (a answer) good() bool { return a.what == "" }

// text is what is wrong, in a line.
func (a answer) text() string {
	if detail := snippet(a.detail); detail != "" {
		return textutil.Printable(a.what) + ": " + detail
	}
	return textutil.Printable(a.what)
}

// picture is what tells two answers apart. Numbers in details do not: counts
// and local ports differ each time, and would make every answer news.
func (a answer) picture() string {
	return a.what + "\n" + strings.Join(strings.FieldsFunc(snippet(a.detail), unicode.IsDigit), "#")
}

// failure is a gate that failed with this answer.
func (a answer) failure(cause string) *engine.Failure {
	f := &engine.Failure{Cause: cause, Command: a.command, Stderr: textutil.Printable(tail(a.stderr, 4096))}
	if a.lost {
		f.Kind = KindUnreachable
	}
	return f
}

// longDetail is how many characters of an untrusted text fit into a line.
const longDetail = 200

// snippet is the first line of a text, fit to be shown. That of a web page says
// nothing.
func snippet(text string) string {
	line := textutil.Printable(firstLine(text[:min(len(text), 4*longDetail)]))
	if strings.HasPrefix(line, "<") {
		return ""
	}
	if letters := []rune(line); len(letters) > longDetail {
		return string(letters[:longDetail]) + "…"
	}
	return line
}

// answer asks a gate once.
func (r *Run) answer(ctx context.Context, hp engine.HostPlan, s engine.Step) answer {
	g := *s.Do.Gate
	h, _ := r.Inventory.Host(hp.Host)
	about := subject{host: hp.Host, address: cmp.Or(h.Address, hp.Host), pool: hp.Pool}
	switch {
	case g.HostCommand != "":
		return r.answerOfHost(ctx, about, s)
	case g.HTTP != nil:
		return r.answerOfWeb(ctx, about, *g.HTTP)
	case g.PromQL != nil:
		return r.answerOfPrometheus(ctx, about, *g.PromQL)
	}
	var f *engine.Failure
	if err := r.bastion(ctx, hp, g.Command); errors.As(err, &f) {
		return answer{what: f.Cause, detail: f.Stderr, command: g.Command, stderr: f.Stderr}
	}
	return answer{command: g.Command}
}

// answerOfHost runs a gate's command on the host, with the variables that
// commands on the bastion have.
func (r *Run) answerOfHost(ctx context.Context, x subject, s engine.Step) answer {
	command := s.Do.Gate.HostCommand
	text := fmt.Sprintf("export HOLDFAST_HOST=%s HOLDFAST_ADDRESS=%s HOLDFAST_POOL=%s HOLDFAST_RUN=%s\n%s\n",
		hostscript.Quote(x.host), hostscript.Quote(x.address), hostscript.Quote(x.pool), hostscript.Quote(r.ID), command)
	reply, err := r.insist(ctx, x.host, Script{Text: text, Op: s.Do})
	switch {
	case err != nil:
		return answer{what: "the host does not answer", detail: err.Error(), command: command, stderr: reply.Stderr, lost: true}
	case reply.Code != 0:
		return answer{what: fmt.Sprintf("exit status %d", reply.Code), detail: cmp.Or(strings.TrimSpace(reply.Stderr), reply.Stdout), command: command, stderr: reply.Stderr}
	}
	return answer{command: command}
}

// answerOfWeb asks a web server. Redirects were followed: only the status at
// their end counts.
func (r *Run) answerOfWeb(ctx context.Context, x subject, g engine.HTTPGate) answer {
	shown := withoutUser(x.url(g.URL, asIs, asIs))
	a := answer{command: "GET " + shown}
	match, err := regexp.Compile(g.Match)
	if err != nil {
		a.what, a.detail, a.final = "match is no regular expression", err.Error(), true
		return a
	}
	status, body, err := r.Web.Get(ctx, x.url(g.URL, url.PathEscape, url.QueryEscape))
	a.detail = string(body)
	switch {
	case err != nil:
		return a.unanswered(shown, err)
	case g.Status != 0 && status != g.Status:
		a.what = fmt.Sprintf("HTTP %d from %s, not %d", status, shown, g.Status)
	case g.Status == 0 && status/100 != 2:
		a.what = httpStatus(status, shown)
	case !match.Match(body):
		a.what = fmt.Sprintf("HTTP %d from %s, and the body does not match %q", status, shown, g.Match)
	default:
		a.detail = ""
	}
	return a
}

// httpStatus is what is wrong with an answer that has another status than 2xx.
func httpStatus(status int, who string) string {
	text := fmt.Sprintf("HTTP %d from %s", status, who)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		text += ", and gates send no password; a command can, such as curl --netrc-file"
	}
	return text
}

// unanswered is the answer that there is none. An error that begins with what
// was asked says it a second time.
func (a answer) unanswered(who string, err error) answer {
	a.what, a.detail = "no answer from "+who, err.Error()
	if rest, ok := strings.CutPrefix(a.detail, "GET "); ok {
		if _, cause, ok := strings.Cut(rest, ": "); ok {
			a.detail = cause
		}
	}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		a.what += ", as the bastion does not know who signed its certificate; SSL_CERT_FILE can name a file of those to trust"
	}
	return a
}
