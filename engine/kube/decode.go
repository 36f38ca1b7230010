package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits within an object. The API has them for labels. It has none for lists, except the size of an object.
const (
	maxInner       = 1000    // elements of a list, and labels of a pod; further ones are ignored
	maxLabelPrefix = 253     // bytes of a key before its slash
	maxLabel       = 63      // bytes of the rest of a key, and of a value
	maxAnnotations = 2 << 20 // bytes of all annotations of an object as JSON; the API allows 256 KiB before they are escaped
)

// unread is a value that nobody reads. It takes no memory, however large it is.
type unread struct{}

// UnmarshalJSON ignores the value.
func (*unread) UnmarshalJSON([]byte) error { return nil }

// decodeFrom reads the page object by object, and refuses more objects than any page has. So the memory that it takes has a bound: a few bytes
// of JSON may be a large structure.
func (p *page[T]) decodeFrom(d *json.Decoder) error {
	return eachField(d, func(key string) error {
		switch key {
		case "kind":
			return d.Decode(&p.Kind)
		case "metadata":
			return d.Decode(&p.Metadata)
		case "items":
			return eachElement(d, func() error {
				if len(p.Items) == pageSize {
					return endlessListError{fmt.Sprintf("a page has more than %d objects", pageSize)}
				}
				var item T
				err := d.Decode(&item)
				p.Items = append(p.Items, item)
				return err
			})
		}
		return d.Decode(new(unread))
	})
}

// eachField reads an object, or null, and lets read decode the value of each field.
func eachField(d *json.Decoder, read func(key string) error) error {
	return eachInside(d, '{', func() error {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // the decoder refuses other keys
		return read(name)
	})
}

// eachElement reads a list, or null, and lets read decode each element.
func eachElement(d *json.Decoder, read func() error) error { return eachInside(d, '[', read) }

func eachInside(d *json.Decoder, open json.Delim, read func() error) error {
	switch begin, err := d.Token(); {
	case err != nil:
		return withoutEOF(err)
	case begin == nil:
		return nil
	case begin != open:
		return &notKubernetesError{fmt.Sprintf("not as expected: a value does not begin with %s", open)}
	}
	for d.More() {
		if err := read(); err != nil {
			return withoutEOF(err)
		}
	}
	_, err := d.Token()
	return withoutEOF(err)
}

// withoutEOF tells the end within a value from the end after one.
func withoutEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// errEnough ends the reading of a value of which nobody reads the rest.
var errEnough = errors.New("the rest is ignored")

func withoutEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// few is a list within an object. It keeps one element more than maxInner, and ignores the rest.
type few[T any] []T

// UnmarshalJSON decodes the first elements.
func (l *few[T]) UnmarshalJSON(text []byte) error {
	*l = nil
	d := json.NewDecoder(bytes.NewReader(text))
	return withoutEnough(eachElement(d, func() error {
		if len(*l) > maxInner {
			return errEnough
		}
		var x T
		err := d.Decode(&x)
		*l = append(*l, x)
		return err
	}))
}

// labels are the first labels of an object. A label that no API accepts refuses the answer.
type labels map[string]string

// UnmarshalJSON decodes the labels.
func (l *labels) UnmarshalJSON(text []byte) error {
	*l = labels{}
	d := json.NewDecoder(bytes.NewReader(text))
	return withoutEnough(eachField(d, func(key string) error {
		switch {
		case len(*l) >= maxInner:
			return errEnough
		case !isLabelKey(key):
			return &notKubernetesError{fmt.Sprintf("a label with a key of %d bytes", len(key))}
		}
		var value string
		switch err := d.Decode(&value); {
		case err != nil:
			return err
		case len(value) > maxLabel:
			return &notKubernetesError{fmt.Sprintf("a label with a value of %d bytes", len(value))}
		}
		(*l)[key] = value
		return nil
	}))
}

// isLabelKey reports whether the key of a label is within the limits of Kubernetes.
func isLabelKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	return len(prefix) <= maxLabelPrefix && len(name) <= maxLabel
}

// annotations has the annotations that holdfast reads.
type annotations struct {
	cordonedBy string
	mirror     bool // the pod is a mirror pod
}

// UnmarshalJSON decodes these annotations.
func (a *annotations) UnmarshalJSON(text []byte) error {
	*a = annotations{}
	if len(text) > maxAnnotations {
		return &notKubernetesError{fmt.Sprintf("an object with annotations of %d bytes", len(text))}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	return eachField(d, func(key string) error {
		switch key {
		case CordonAnnotation:
			return d.Decode(&a.cordonedBy)
		case "kubernetes.io/config.mirror":
			a.mirror = true
		}
		return d.Decode(new(unread))
	})
}
