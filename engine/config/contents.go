package config

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"io"
	"net/url"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/vincent-petithory/dataurl"
)

// maxContents is how many bytes a file may have once it is decompressed.
const maxContents = 64 << 20

// decode gives the bytes a resource stands for, or says what is wrong with it
// and in which of its fields.
func decode(r types.Resource) (data []byte, field steps, wrong string) {
	if r.Source == nil || *r.Source == "" {
		return nil, nil, ""
	}
	if !strings.HasPrefix(*r.Source, "data:") {
		return nil, steps{"source"}, elsewhere(r)
	}
	parsed, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, steps{"source"}, "is not a data: URL; encode the contents again, as base64"
	}
	data = parsed.Data
	if r.Compression != nil && *r.Compression == "gzip" {
		if data, err = unzip(data); err != nil {
			return nil, steps{"compression"}, "says gzip, and the source is not gzip, or is more than 64 MiB; encode the contents again"
		}
	}
	if len(data) > maxContents {
		return nil, steps{"source"}, "has more than 64 MiB; put files of that size into the OS image"
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

func unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, maxContents+1))
	if err != nil {
		return nil, err
	}
	if len(out) > maxContents {
		return nil, io.ErrShortBuffer
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
