package ignition

import (
	"encoding/base64"
	"strings"

	"github.com/vincent-petithory/dataurl"
)

// DecodeDataURL returns the data of a data: URL. The library takes long for long
// data, because it decodes one character at a time. So DecodeDataURL usually gives the
// library only the part before the data. If this part is in commonHeads, it does not call
// the library.
func DecodeDataURL(url string) (data []byte, ok bool) {
	head, rest, hasComma := strings.Cut(url, ",")
	if !hasComma {
		return nil, false
	}
	isBase64, known := commonHeads[head]
	if !known {
		parsed, err := dataurl.DecodeString(head + ",")
		if err != nil { // a parameter in quotes may contain the first comma
			if parsed, err = dataurl.DecodeString(url); err != nil {
				return nil, false
			}
			return parsed.Data, true
		}
		isBase64 = parsed.Encoding == dataurl.EncodingBase64
	}
	if !isBase64 {
		return unescapePercent(rest)
	}
	if strings.Contains(rest, "\r") { // package base64 skips it, and the library refuses it
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(rest)
	return data, err == nil
}

// commonHeads lists common beginnings of data: URLs. The value is true if the
// data are base64.
var commonHeads = map[string]bool{
	"data:": false, "data:;base64": true, "data:text/plain;charset=utf-8": false, "data:text/plain;charset=utf-8;base64": true,
	"data:text/plain": false, "data:text/plain;base64": true,
}

// unescapePercent decodes data that are not base64. Like the library, it refuses
// characters that a URL must not contain.
func unescapePercent(s string) (data []byte, ok bool) {
	data = make([]byte, 0, max(0, len(s)-2*strings.Count(s, "%")))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			if i+2 >= len(s) {
				return nil, false
			}
			high, low := hexValue(s[i+1]), hexValue(s[i+2])
			if high < 0 || low < 0 {
				return nil, false
			}
			c, i = byte(high<<4|low), i+2
		case c <= ' ', c >= 0x7f, strings.IndexByte("<>#\"{}|\\^[]`", c) >= 0:
			return nil, false
		}
		data = append(data, c)
	}
	return data, true
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
