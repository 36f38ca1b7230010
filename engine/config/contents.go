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

var usual = limits{file: maxContents, document: 512 << 20, all: 2 << 30, texts: 2 << 30}

// maxContents is how many bytes a file may have once it is decompressed.
const maxContents = 64 << 20

// contents are those of files, decoded once. In configs that were read, sources
// only name them: Ignition's library takes a source apart each time that it
// sees it.
type contents struct {
	limits limits
	list   []content
	bytes  int // of all of them
	texts  int // of documents that were read
}

// content is what a source stands for.
type content struct {
	data   []byte
	digest string
	// as is the source as it is written, if it is not data alone in base64.
	as types.Resource
}

// mark begins a source that names contents by their number.
const mark = "data:,"

// spendText counts a document, or says why it is too much.
func (c *contents) spendText(n int) (wrong string) {
	if c.texts += n; c.texts > c.limits.texts {
		return fmt.Sprintf("makes more than %d MiB of all documents; put files of that size into the OS image", c.limits.texts>>20)
	}
	return ""
}

// spend counts bytes of contents, or says why they are too many.
func (c *contents) spend(n int) (wrong string) {
	if c.bytes += n; c.bytes > c.limits.all {
		return fmt.Sprintf("makes more than %d MiB of the contents of all documents; put files of that size into the OS image", c.limits.all>>20)
	}
	return ""
}

// add keeps contents, and gives the resource that names them.
func (c *contents) add(x content) types.Resource {
	x.digest = engine.Digest(x.data)
	c.list = append(c.list, x)
	source := mark + strconv.Itoa(len(c.list)-1)
	return types.Resource{Source: &source}
}

// of gives the contents that a resource names; none if it has no source.
func (c *contents) of(r types.Resource) content {
	if r.Source != nil {
		if i, err := strconv.Atoi(strings.TrimPrefix(*r.Source, mark)); err == nil && i < len(c.list) {
			return c.list[i]
		}
	}
	return content{}
}

// written gives a resource as Ignition reads it.
func (c *contents) written(r types.Resource) types.Resource {
	if r.Source == nil || *r.Source == "" {
		return r
	}
	x := c.of(r)
	if x.as.Source != nil {
		return x.as
	}
	source := "data:;base64," + base64.StdEncoding.EncodeToString(x.data)
	return types.Resource{Source: &source}
}

// take decodes the contents of a resource, verifies them, and has the resource
// name them.
func (d *document) take(r *types.Resource, at steps) {
	before := *r
	if r.Source == nil {
		if r.Compression != nil && *r.Compression != "" {
			d.add(at.with("compression"), "is that of a source, and there is none; give the source, or remove it")
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
	if left := d.contents.limits.document - d.taken; left < most {
		most = left
		tooMuch = fmt.Sprintf("makes more than %d MiB of the contents of this document; put files of that size into the OS image", d.contents.limits.document>>20)
	}
	data, field, wrong := decode(before, most)
	if wrong == errLong.Error() {
		if d.full { // said of the first
			return
		}
		wrong, d.full = tooMuch, most < d.contents.limits.file
	}
	if wrong != "" {
		d.add(at.with(field...), "%s", wrong)
		return
	}
	d.taken += len(data)
	if wrong := d.contents.spend(len(data)); wrong != "" {
		d.add(at.with("source"), "%s", wrong)
		return
	}
	x := content{data: data}
	if text(before.Compression) == "" {
		before.Compression = nil
	}
	if header, _, _ := strings.Cut(*before.Source, ","); before.Compression != nil || !strings.HasSuffix(header, ";base64") {
		source := strings.Clone(*before.Source)
		x.as = types.Resource{Source: &source, Compression: before.Compression}
	}
	*r = d.contents.add(x)
}

// decode gives the bytes a resource stands for, which may be so many, or says
// what is wrong with it and in which of its fields.
func decode(r types.Resource, most int) (data []byte, field steps, wrong string) {
	if !strings.HasPrefix(*r.Source, "data:") {
		return nil, steps{"source"}, elsewhere(r)
	}
	data, ok := decodeURL(*r.Source)
	if !ok {
		return nil, steps{"source"}, "is not a data: URL; encode the contents again"
	}
	if r.Compression != nil && *r.Compression == "gzip" {
		var err error
		switch data, err = unzip(data, most); {
		case err == errLong: //nolint:errorlint // as it is
			return nil, steps{"source"}, err.Error()
		case err != nil:
			return nil, steps{"compression"}, "says gzip, and the source is not gzip; encode the contents again"
		}
	}
	if len(data) > most {
		return nil, steps{"source"}, errLong.Error()
	}
	if r.Verification.Hash != nil && !verified(data, *r.Verification.Hash) {
		return nil, steps{"verification", "hash"}, "is not the hash of the contents (after decompression); correct it or remove it"
	}
	return data, nil, ""
}

// elsewhere says why contents that are not embedded are refused.
func elsewhere(r types.Resource) string {
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

// errLong says that compressed data stand for more than they may.
var errLong = errors.New("too long")

// unzip decompresses data that stand for so many bytes at most.
func unzip(data []byte, most int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(out) > most {
		return nil, errLong
	}
	return out, r.Close()
}

// verified compares data with a hash such as sha256-…. Hashes of other kinds
// are for the library to refuse.
func verified(data []byte, hash string) bool {
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
