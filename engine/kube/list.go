package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	pageSize     = 500
	maxObjects   = 300_000 // of one list; a page counts as full
	maxRestarts  = 2       // of a list that expires before its last page
	maxContinues = 16 << 10
)

// endlessListError is a list whose pages do not end.
type endlessListError struct{ reason string }

// Error tells how the list was too long.
func (e endlessListError) Error() string { return "the list does not end: " + e.reason }

// listing reads one list.
type listing[T any] struct {
	path    string
	query   url.Values
	restart func()  // forgets the objects so far
	use     func(T) // gets each object
}

// read reads the list in pages. When the list expires, read begins again.
func (l listing[T]) read(ctx context.Context, c *Client) error {
	for tries := 0; ; tries++ {
		err := l.readOnce(ctx, c)
		var status *statusError
		if tries >= maxRestarts || !errors.As(err, &status) || status.code != http.StatusGone {
			return err
		}
		l.restart()
	}
}

// readOnce reads the pages. A page that is too large is asked for again with a tenth of its objects, because anybody who may make objects can
// make some that are large. Later pages grow again, so that such objects make only the pages with them small.
func (l listing[T]) readOnce(ctx context.Context, c *Client) error {
	q := url.Values{}
	maps.Copy(q, l.query)
	limit := pageSize
	for asked := 0; asked < maxObjects; {
		q.Set("limit", strconv.Itoa(limit))
		var p page[T]
		switch err := c.get(ctx, l.path+"?"+q.Encode(), &p); {
		case limit > 1 && errors.As(err, &tooLargeError{}):
			limit = max(1, limit/10)
			continue
		case err != nil:
			return err
		}
		asked += limit
		limit = min(2*limit, pageSize)
		if !strings.HasSuffix(p.Kind, "List") {
			return &notKubernetesError{fmt.Sprintf("no list, but %q", shortenText(p.Kind))}
		}
		for _, item := range p.Items {
			l.use(item)
		}
		next := p.Metadata.Continue
		switch {
		case next == "":
			return nil
		case next == q.Get("continue"):
			return endlessListError{"a page says that it comes after itself"}
		case len(next) > maxContinues:
			return endlessListError{fmt.Sprintf("the name of its next page has %d bytes", len(next))}
		}
		q.Set("continue", next)
	}
	return endlessListError{fmt.Sprintf("it has more than %d objects", maxObjects)}
}
