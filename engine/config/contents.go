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

	"holdfast/engine"
	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
)

// limits bounds the decoded and decompressed contents: a few bytes of a
// document can expand to gigabytes. All values are bytes.
type limits struct {
	file     int // one file
	document int // all files of one document
	all      int // all files of all documents, including appended contents
	texts    int // the source text of all documents
}

var defaultLimits = limits{file: maxContents, document: 512 << 20, all: 2 << 30, texts: 2 << 30}

// maxContents is the maximum size of a file in bytes, after decompression.
const maxContents = 64 << 20

// contentStore holds decoded file contents. In parsed configs, a source only
// contains the number of its content, because Ignition's library parses the
// whole source each time that it reads it.
type contentStore struct {
	limits limits
	list   []content
	bytes  int // total size of the contents
	texts  int // total size of the documents read
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

func (c *contentStore) countBytes(n int) (wrong string) {
	if c.bytes += n; c.bytes > c.limits.all {
		return fmt.Sprintf("exceeds the limit of %d MiB for the contents of all documents; put files of that size into the OS image", c.limits.all>>20)
	}
	return ""
}

func (c *contentStore) addContent(x content) types.Resource {
	x.digest = engine.Digest(x.data)
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

// decodeContents decodes and verifies the contents of a resource, stores them,
// and replaces the resource with a reference to them.
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
	most := d.contents.limits.file
	tooMuch := fmt.Sprintf("has more than %d MiB; put files of that size into the OS image", most>>20)
	if left := d.contents.limits.document - d.contentBytes; left < most {
		most = left
		tooMuch = fmt.Sprintf("exceeds the limit of %d MiB for the contents of this document; put files of that size into the OS image", d.contents.limits.document>>20)
	}
	data, field, wrong := decodeResource(before, most)
	if wrong == errTooLong.Error() {
		if d.hasReportedLimit { // only the first file is reported
			return
		}
		wrong, d.hasReportedLimit = tooMuch, most < d.contents.limits.file
	}
	if wrong != "" {
		d.addError(at.With(field...), "%s", wrong)
		return
	}
	d.contentBytes += len(data)
	if wrong := d.contents.countBytes(len(data)); wrong != "" {
		d.addError(at.With("source"), "%s", wrong)
		return
	}
	x := content{data: data}
	if stringOrEmpty(before.Compression) == "" {
		before.Compression = nil
	}
	if header, _, _ := strings.Cut(*before.Source, ","); before.Compression != nil || !strings.HasSuffix(header, ";base64") {
		source := strings.Clone(*before.Source)
		x.original = types.Resource{Source: &source, Compression: before.Compression}
	}
	*r = d.contents.addContent(x)
}

// decodeResource returns the content of a resource, at most limit bytes. On
// failure it returns the field and the problem.
func decodeResource(r types.Resource, limit int) (data []byte, field syntax.FieldPath, wrong string) {
	if !strings.HasPrefix(*r.Source, "data:") {
		return nil, syntax.FieldPath{"source"}, remoteProblem(r)
	}
	data, ok := ignition.DecodeDataURL(*r.Source)
	if !ok {
		return nil, syntax.FieldPath{"source"}, "is not a data: URL; encode the contents again"
	}
	if r.Compression != nil && *r.Compression == "gzip" {
		var err error
		switch data, err = decompressGzip(data, limit); {
		case err == errTooLong: //nolint:errorlint // decompressGzip does not wrap it
			return nil, syntax.FieldPath{"source"}, err.Error()
		case err != nil:
			return nil, syntax.FieldPath{"compression"}, "is gzip, but the source is not gzip data; encode the contents again"
		}
	}
	if len(data) > limit {
		return nil, syntax.FieldPath{"source"}, errTooLong.Error()
	}
	if r.Verification.Hash != nil && !matchesHash(data, *r.Verification.Hash) {
		return nil, syntax.FieldPath{"verification", "hash"}, "is not the hash of the contents (after decompression); correct it or remove it"
	}
	return data, nil, ""
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

func decompressGzip(data []byte, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(out) > limit {
		return nil, errTooLong
	}
	return out, r.Close()
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
