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

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// limits bounds the documents and their contents. A few bytes of a document can
// expand to gigabytes of decompressed contents.
type limits struct {
	file     int // bytes of one file
	document int // bytes of all files of one document
	all      int // bytes of all contents that a run unpacks or keeps
	texts    int // bytes of the text of all documents
	values   int // number of values in all documents that a run keeps
}

var defaultLimits = limits{file: maxContents, document: 512 << 20, all: 2 << 30, texts: 2 << 30, values: 10_000_000}

// maxContents is the maximum size of a file in bytes, after decompression.
const maxContents = 64 << 20

// contentStore holds decoded file contents. A source in a parsed config is only a
// short reference to its content, because Ignition's library parses a whole
// source each time that it reads it.
type contentStore struct {
	limits limits
	list   []content
	// bytes counts all contents that were decoded, and refused ones, too. It also
	// counts the sources that are kept, and the results of appending.
	bytes  int
	texts  int // total size of the documents read
	values int // number of values in the documents that are in memory
}

// content is the decoded content of one source.
type content struct {
	data   []byte
	digest string
	// original is the source in the document, unless it is base64 without
	// compression.
	original types.Resource
}

func (c *contentStore) countText(n int) (wrong string) {
	if c.texts += n; c.texts > c.limits.texts {
		return fmt.Sprintf("exceeds the limit of %d MiB for all documents; put files of that size into the OS image", c.limits.texts>>20)
	}
	return ""
}

// countValues counts n more values. wrong is the problem if they are too many.
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

// ignitionResource returns the source behind a reference, because Ignition cannot read the reference.
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

// sizeLimit returns the maximum size of the next content, and the message for a larger one.
func (d *document) sizeLimit() (most int, tooMuch string) {
	most, tooMuch = d.contentsLeft()
	if file := d.contents.limits.file; file <= most {
		most, tooMuch = file, fmt.Sprintf("has more than %d MiB; put files of that size into the OS image", file>>20)
	}
	return most, tooMuch
}

// contentsLeft returns a number of bytes, and the message for a document that has more.
func (d *document) contentsLeft() (most int, tooMuch string) {
	l := d.contents.limits
	most, tooMuch = l.document-d.contentBytes, fmt.Sprintf("exceeds the limit of %d MiB for the contents of this document", l.document>>20)
	if left := l.all - d.contents.bytes; left < most {
		most, tooMuch = left, fmt.Sprintf("exceeds the limit of %d MiB for the contents of all documents", l.all>>20)
	}
	return max(most, 0), tooMuch + "; put files of that size into the OS image"
}

// decodeContents decodes and verifies the contents of a resource, stores them,
// and replaces the resource with a reference to them. A refused resource becomes
// empty, because its source may look like a reference. Once the document or the
// run has exceeded its limit, decodeContents decodes nothing more: the document is
// refused anyway.
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
	*r = types.Resource{}
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
	bytes     int              // number of bytes that were decoded, also if the data are refused
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
		return decoded{field: source, wrong: "is not a valid data: URL; encode the contents again"}
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
	remote, scheme := "refers to remote contents", ""
	if u, err := url.Parse(*r.Source); err == nil && u.Scheme != "" && len(u.Scheme) <= 5 { // a longer one may be a secret
		scheme = u.Scheme
		remote += " (" + scheme + ":)"
	}
	const embed = "embed the contents as a data: URL (Butane: inline or local)"
	switch {
	case scheme != "http" && scheme != "https":
		return remote + ", but only http and https are supported; " + embed
	case r.Verification.Hash == nil:
		return remote + " without a hash; add verification.hash (sha512- and the output of sha512sum), or " + embed
	}
	return remote + ", which this command does not fetch; " + embed
}

// errTooLong means that decompressed data exceed their limit.
var errTooLong = errors.New("too long")

// decompressGzip decompresses at most limit bytes. size is the number of bytes
// that it decompressed, also after an error. It decompresses twice. The first time
// it only counts the bytes, so a bomb takes no memory. The second time it needs
// exactly as much memory as there are bytes.
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

// matchesHash compares data with a hash such as sha256-…. It returns true for an
// unknown hash function, because Ignition's library reports it.
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
