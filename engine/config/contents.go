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
)

// limits bound contents, decoded and decompressed: few bytes of a document can
// stand for many.
type limits struct {
	file     int // of a file
	document int // of the files of a document
	all      int // of all documents that are read, and of what appending makes of files
	texts    int // of all documents, as they are written
}

var defaultLimits = limits{file: maxContents, document: 512 << 20, all: 2 << 30, texts: 2 << 30}

// maxContents is how many bytes a file may have once it is decompressed.
const maxContents = 64 << 20

// contentStore are those of files, decoded once. In configs that were read, sources
// only name them: Ignition's library takes a source apart each time that it
// sees it.
type contentStore struct {
	limits limits
	list   []content
	bytes  int // of all of them
	texts  int // of documents that were read
}

// content is what a source stands for.
type content struct {
	data   []byte
	digest string
	// original is the source as it is written, if it is not data alone in base64.
	original types.Resource
}

// contentPrefix begins a source that names contents by their number.
const contentPrefix = "data:,"

// countText counts a document, or says why it is too much.
func (c *contentStore) countText(n int) (wrong string) {
	if c.texts += n; c.texts > c.limits.texts {
		return fmt.Sprintf("makes more than %d MiB of all documents; put files of that size into the OS image", c.limits.texts>>20)
	}
	return ""
}

// countBytes counts bytes of contents, or says why they are too many.
func (c *contentStore) countBytes(n int) (wrong string) {
	if c.bytes += n; c.bytes > c.limits.all {
		return fmt.Sprintf("makes more than %d MiB of the contents of all documents; put files of that size into the OS image", c.limits.all>>20)
	}
	return ""
}

// addContent keeps contents, and gives the resource that names them.
func (c *contentStore) addContent(x content) types.Resource {
	x.digest = engine.Digest(x.data)
	c.list = append(c.list, x)
	source := contentPrefix + strconv.Itoa(len(c.list)-1)
	return types.Resource{Source: &source}
}

// contentOf gives the contents that a resource names; none if it has no source.
func (c *contentStore) contentOf(r types.Resource) content {
	if r.Source != nil {
		if i, err := strconv.Atoi(strings.TrimPrefix(*r.Source, contentPrefix)); err == nil && i < len(c.list) {
			return c.list[i]
		}
	}
	return content{}
}

// ignitionResource gives a resource as Ignition reads it.
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

// decodeContents decodes the contents of a resource, verifies them, and has the resource
// name them.
func (d *document) decodeContents(r *types.Resource, at fieldPath) {
	before := *r
	if r.Source == nil {
		if r.Compression != nil && *r.Compression != "" {
			d.addError(at.with("compression"), "is that of a source, and there is none; give the source, or remove it")
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
		tooMuch = fmt.Sprintf("makes more than %d MiB of the contents of this document; put files of that size into the OS image", d.contents.limits.document>>20)
	}
	data, field, wrong := decodeResource(before, most)
	if wrong == errTooLong.Error() {
		if d.hasReportedLimit { // said of the first
			return
		}
		wrong, d.hasReportedLimit = tooMuch, most < d.contents.limits.file
	}
	if wrong != "" {
		d.addError(at.with(field...), "%s", wrong)
		return
	}
	d.contentBytes += len(data)
	if wrong := d.contents.countBytes(len(data)); wrong != "" {
		d.addError(at.with("source"), "%s", wrong)
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

// decodeResource gives the bytes a resource stands for, which may be so many, or says
// what is wrong with it and in which of its fields.
func decodeResource(r types.Resource, most int) (data []byte, field fieldPath, wrong string) {
	if !strings.HasPrefix(*r.Source, "data:") {
		return nil, fieldPath{"source"}, remoteProblem(r)
	}
	data, ok := decodeURL(*r.Source)
	if !ok {
		return nil, fieldPath{"source"}, "is not a data: URL; encode the contents again"
	}
	if r.Compression != nil && *r.Compression == "gzip" {
		var err error
		switch data, err = decompressGzip(data, most); {
		case err == errTooLong: //nolint:errorlint // as it is
			return nil, fieldPath{"source"}, err.Error()
		case err != nil:
			return nil, fieldPath{"compression"}, "says gzip, and the source is not gzip; encode the contents again"
		}
	}
	if len(data) > most {
		return nil, fieldPath{"source"}, errTooLong.Error()
	}
	if r.Verification.Hash != nil && !matchesHash(data, *r.Verification.Hash) {
		return nil, fieldPath{"verification", "hash"}, "is not the hash of the contents (after decompression); correct it or remove it"
	}
	return data, nil, ""
}

// remoteProblem says why contents that are not embedded are refused.
func remoteProblem(r types.Resource) string {
	scheme := "that"
	if u, err := url.Parse(*r.Source); err == nil && len(u.Scheme) <= 5 {
		scheme = u.Scheme + ":"
	}
	const embed = "embed the contents as a data: URL (Butane: inline or local)"
	switch {
	case scheme != "http:" && scheme != "https:":
		return "is fetched from elsewhere (" + scheme + "), of which only http and https are known here; " + embed
	case r.Verification.Hash == nil:
		return "is fetched from elsewhere (" + scheme + ") and may change unseen; add verification.hash (sha512- and what sha512sum prints), or " + embed
	}
	return "is fetched from elsewhere (" + scheme + "), and nothing is fetched here; " + embed
}

// errTooLong says that compressed data stand for more than they may.
var errTooLong = errors.New("too long")

// decompressGzip decompresses data that stand for so many bytes at most.
func decompressGzip(data []byte, most int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(out) > most {
		return nil, errTooLong
	}
	return out, r.Close()
}

// matchesHash compares data with a hash such as sha256-…. Hashes of other kinds
// are for the library to refuse.
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
