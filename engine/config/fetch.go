package config

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/syntax"
)

// Remote refers to contents outside the document: their address and their
// hash.
type Remote struct {
	URL     string
	Headers [][2]string // name and value of request headers
	Hash    string      // sha256-… or sha512-… of the decompressed contents; "": not known yet
	Gzip    bool        // the response is compressed
}

// MaxRemote is the maximum size of remote contents in bytes, both as fetched
// and decompressed.
const MaxRemote = maxContents

// Contents decompresses and verifies a fetched response.
func (r Remote) Contents(fetched []byte) ([]byte, error) {
	data := fetched
	if r.Gzip {
		var err error
		if data, _, err = decompressGzip(fetched, maxContents); err != nil {
			return nil, errors.New("it is not gzip data, or it is larger than 64 MiB")
		}
	}
	if len(data) > maxContents {
		return nil, errors.New("it is larger than 64 MiB; put files of that size into the OS image")
	}
	if !matchesHash(data, r.Hash) {
		return nil, errors.New("its hash differs from verification.hash (after decompression)")
	}
	return data, nil
}

// Redacted returns the address without user, password and query, which may be
// secret.
func (r Remote) Redacted() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "that address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// HashOf returns the hash of contents as documents write it.
func HashOf(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + hex.EncodeToString(sum[:])
}

// fetchContents embeds remote contents that have a hash, and refuses the others.
func (d *document) fetchContents() {
	if d.fetch == nil {
		return
	}
	c, at := &d.ignition.Ignition.Config, syntax.FieldPath{"ignition", "config"}
	c.Replace = d.embedRemote(c.Replace, at.With("replace"))
	for i, r := range c.Merge {
		c.Merge[i] = d.embedRemote(r, at.With("merge", i))
	}
	for i := range d.ignition.Storage.Files {
		f := &d.ignition.Storage.Files[i]
		at := syntax.FieldPath{"storage", "files", i}
		f.Contents = d.embedRemote(f.Contents, at.With("contents"))
		for j, r := range f.Append {
			f.Append[j] = d.embedRemote(r, at.With("append", j))
		}
	}
}

// maxFailedFetches is the number of failed downloads after which a document
// fetches nothing more.
const maxFailedFetches = 8

// embedRemote fetches a resource and returns it with embedded contents. It
// refuses contents without a hash, with the hash to write. If the fetch fails, it
// reports the error and returns an empty resource. It fetches nothing more after a limit, or after too many failures: the document is
// refused anyway.
func (d *document) embedRemote(r types.Resource, at syntax.FieldPath) types.Resource {
	if r.Source == nil {
		return r
	}
	if u, err := url.Parse(*r.Source); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return r
	}
	if d.hasReportedLimit || d.failedFetches >= maxFailedFetches {
		return types.Resource{}
	}
	remote := Remote{URL: *r.Source, Hash: stringOrEmpty(r.Verification.Hash), Gzip: r.Compression != nil && *r.Compression == "gzip"}
	for _, h := range r.HTTPHeaders {
		if h.Value != nil {
			remote.Headers = append(remote.Headers, [2]string{h.Name, *h.Value})
		}
	}
	data, err := d.fetch(remote)
	switch {
	case err != nil && remote.Hash == "":
		d.failedFetches++
		d.addError(at.With("source"), "%s; it cannot be fetched from %s: %v", remoteProblem(r), remote.Redacted(), err)
		return types.Resource{}
	case err != nil:
		d.failedFetches++
		d.addError(at.With("source"), "cannot be fetched from %s: %v", remote.Redacted(), err)
		return types.Resource{}
	case remote.Hash == "":
		d.addError(at.With("source"), "refers to remote contents without a hash; check them, and write verification.hash: %s", HashOf(data))
	}
	// decodeContents counts the contents only after all of them were fetched.
	d.fetchedBytes += len(data)
	most, tooMuch := d.contentsLeft()
	if d.fetchedBytes > most {
		d.hasReportedLimit = true
		d.addError(at.With("source"), "%s", tooMuch)
		return types.Resource{}
	}
	embedded := "data:;base64," + base64.StdEncoding.EncodeToString(data)
	return types.Resource{Source: &embedded}
}
