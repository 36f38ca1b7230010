package config

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// limits bounds the decoded and decompressed contents: a few bytes of a
// document can expand to gigabytes. The first four values are bytes.
type limits struct {
	file     int // one file
	document int // all files of one document
	all      int // all contents that a run unpacks or keeps
	texts    int // the source text of all documents
	values   int // number of values in all documents that a run keeps
}

var defaultLimits = limits{file: maxContents, document: 512 << 20, all: 2 << 30, texts: 2 << 30, values: 10_000_000}

// maxContents is the maximum size of a file in bytes, after decompression.
const maxContents = 64 << 20

// contentStore holds decoded file contents. In parsed configs, a source only
// contains the number of its content, because Ignition's library parses the
// whole source each time that it reads it.
type contentStore struct {
	limits limits
	list   []content
	// bytes counts the contents that were decoded, also those that were
	// refused, the sources that are kept, and the appended contents.
	bytes  int
	texts  int // total size of the documents read
	values int // number of values in the documents that are in memory
}

// content is the decoded content of one source.
type content struct {
	data   []byte
	digest string
	// original is the source in the document, unless it is plain base64.
	original types.Resource
}

func (c *contentStore) countText(n int) (wrong string) {
	if c.texts += n; c.texts > c.limits.texts {
		return fmt.Sprintf("exceeds the limit of %d MiB for all documents; put files of that size into the OS image", c.limits.texts>>20)
	}
	return ""
}

// countValues counts the values of a document.
func (c *contentStore) countValues(n int) (wrong string) {
	if c.values += n; c.values > c.limits.values {
		return fmt.Sprintf("exceeds the limit of %d values for all documents; write fewer, with fewer aliases", c.limits.values)
	}
	return ""
}

func (c *contentStore) countBytes(n int) (wrong string) {
	if c.bytes += n; c.bytes > c.limits.all {
		return fmt.Sprintf("exceeds the limit of %d MiB for the contents of all documents; put files of that size into the OS image", c.limits.all>>20)
	}
	return ""
}

func (c *contentStore) addContent(x content) types.Resource {
	x.digest = resource.Digest(x.data)
	c.list = append(c.list, x)
	source := ignition.ContentPrefix + strconv.Itoa(len(c.list)-1)
	return types.Resource{Source: &source}
}

func (c *contentStore) contentOf(r types.Resource) content {
	if r.Source != nil {
		if i, err := strconv.Atoi(strings.TrimPrefix(*r.Source, ignition.ContentPrefix)); err == nil && i < len(c.list) {
			return c.list[i]
		}
	}
	return content{}
}

// ignitionResource converts a reference to a content back into a resource that
// Ignition can read.
func (c *contentStore) ignitionResource(r types.Resource) types.Resource {
	if r.Source == nil || *r.Source == "" {
		return r
	}
	x := c.contentOf(r)
	if x.original.Source != nil {
		return x.original
	}
	source := "data:;base64," + base64.StdEncoding.EncodeToString(x.data)
	return types.Resource{Source: &source}
}

// sizeLimit returns the maximum size of the next content of the document, and
// the message about a larger one.
func (d *document) sizeLimit() (most int, tooMuch string) {
	most, tooMuch = d.contentsLeft()
	if file := d.contents.limits.file; file <= most {
		most, tooMuch = file, fmt.Sprintf("has more than %d MiB; put files of that size into the OS image", file>>20)
	}
	return most, tooMuch
}

// contentsLeft returns how many more bytes of contents the document may have,
// and the message about more.
func (d *document) contentsLeft() (most int, tooMuch string) {
	l := d.contents.limits
	most, tooMuch = l.document-d.contentBytes, fmt.Sprintf("exceeds the limit of %d MiB for the contents of this document", l.document>>20)
	if left := l.all - d.contents.bytes; left < most {
		most, tooMuch = left, fmt.Sprintf("exceeds the limit of %d MiB for the contents of all documents", l.all>>20)
	}
	return max(most, 0), tooMuch + "; put files of that size into the OS image"
}

// decodeContents decodes and verifies the contents of a resource, stores them,
// and replaces the resource with a reference to them. It decodes nothing more
// after a limit of the document or the run: the document is refused anyway.
func (d *document) decodeContents(r *types.Resource, at syntax.FieldPath) {
	before := *r
	if r.Source == nil {
		if r.Compression != nil && *r.Compression != "" {
			d.addError(at.With("compression"), "is set without a source; add the source, or remove it")
		}
		*r = types.Resource{}
		return
	}
	if *r.Source == "" {
		source := ""
		*r = types.Resource{Source: &source}
		return
	}
	if d.hasReportedLimit {
		return
	}
	most, tooMuch := d.sizeLimit()
	got := decodeResource(before, most)
	d.contentBytes += got.bytes
	d.contents.bytes += got.bytes
	if got.isTooLong {
		got.wrong, d.hasReportedLimit = tooMuch, most < d.contents.limits.file
	}
	if got.wrong != "" {
		d.addError(at.With(got.field...), "%s", got.wrong)
		return
	}
	x := content{data: got.data}
	if stringOrEmpty(before.Compression) == "" {
		before.Compression = nil
	}
	if header, _, _ := strings.Cut(*before.Source, ","); before.Compression != nil || !strings.HasSuffix(header, ";base64") {
		source := strings.Clone(*before.Source)
		x.original = types.Resource{Source: &source, Compression: before.Compression}
		d.contents.bytes += len(source)
	}
	*r = d.contents.addContent(x)
}

// decoded is the result of decodeResource.
type decoded struct {
	data      []byte
	bytes     int              // size of the data, or the bytes that were decompressed until the data were refused
	isTooLong bool             // the data are longer than the limit
	field     syntax.FieldPath // field with the problem
	wrong     string           // the problem
}

// decodeResource returns the content of a resource, at most limit bytes.
func decodeResource(r types.Resource, limit int) decoded {
	source := syntax.FieldPath{"source"}
	if !strings.HasPrefix(*r.Source, "data:") {
		return decoded{field: source, wrong: remoteProblem(r)}
	}
	data, ok := ignition.DecodeDataURL(*r.Source)
	if !ok {
		return decoded{field: source, wrong: "is not a data: URL; encode the contents again"}
	}
	size := len(data)
	if r.Compression != nil && *r.Compression == "gzip" {
		var err error
		switch data, size, err = decompressGzip(data, limit); {
		case err == errTooLong: //nolint:errorlint // decompressGzip does not wrap it
		case err != nil:
			return decoded{bytes: size, field: syntax.FieldPath{"compression"}, wrong: "is gzip, but the source is not gzip data; encode the contents again"}
		}
	}
	if size > limit {
		return decoded{bytes: size, field: source, isTooLong: true}
	}
	if r.Verification.Hash != nil && !matchesHash(data, *r.Verification.Hash) {
		return decoded{bytes: size, field: syntax.FieldPath{"verification", "hash"}, wrong: "is not the hash of the contents (after decompression); correct it or remove it"}
	}
	return decoded{data: data, bytes: size}
}

func remoteProblem(r types.Resource) string {
	scheme := "that"
	if u, err := url.Parse(*r.Source); err == nil && len(u.Scheme) <= 5 {
		scheme = u.Scheme + ":"
	}
	const embed = "embed the contents as a data: URL (Butane: inline or local)"
	switch {
	case scheme != "http:" && scheme != "https:":
		return "refers to remote contents (" + scheme + "), but only http and https are supported; " + embed
	case r.Verification.Hash == nil:
		return "refers to remote contents (" + scheme + ") without a hash; add verification.hash (sha512- and the output of sha512sum), or " + embed
	}
	return "refers to remote contents (" + scheme + "), which this command does not fetch; " + embed
}

// errTooLong means that decompressed data exceed their limit.
var errTooLong = errors.New("too long")

// decompressGzip decompresses at most limit bytes. It also returns the size of
// the data. After an error, this is the number of bytes that it decompressed.
// It first decompresses without keeping anything, so that a bomb takes no
// memory, and other data take no more than their size.
func decompressGzip(data []byte, limit int) (out []byte, size int, err error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, 0, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, int64(limit)+1))
	switch size = int(n); {
	case err != nil:
		return nil, size, err
	case size > limit:
		return nil, size, errTooLong
	}
	if err := r.Reset(bytes.NewReader(data)); err != nil {
		return nil, size, err
	}
	out = make([]byte, size)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, size, err
	}
	return out, size, r.Close()
}

// matchesHash compares data with a hash such as sha256-…. It accepts unknown
// hash functions, because the library refuses them.
func matchesHash(data []byte, hash string) bool {
	function, want, _ := strings.Cut(hash, "-")
	var sum []byte
	switch function {
	case "sha256":
		s := sha256.Sum256(data)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(data)
		sum = s[:]
	}
	return sum == nil || strings.EqualFold(hex.EncodeToString(sum), want)
}
