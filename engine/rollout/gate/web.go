package gate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"holdfast/engine"
)

func (k Asker) askWeb(ctx context.Context, x Subject, g engine.HTTPGate) answer {
	shown := withoutUser(x.fillURL(g.URL, asIs, asIs))
	a := answer{command: "GET " + shown}
	match, err := regexp.Compile(g.Match)
	if err != nil {
		a.problem, a.detail, a.final = "match is no regular expression", err.Error(), true
		return a
	}
	status, body, err := k.Web.Get(ctx, x.fillURL(g.URL, url.PathEscape, url.QueryEscape))
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

func (a answer) withConnectionError(who string, err error) answer {
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
