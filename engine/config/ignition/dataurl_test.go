package ignition

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vincent-petithory/dataurl"
)

// FuzzDataURL decodes any URL as the library does.
func FuzzDataURL(f *testing.F) {
	for _, url := range []string{
		"data:,", "data:", "data:;base64,aGk=", "data:;base64,aGk", "data:;base64,a\nGk=", "data:;base64,a\rGk=", "data:,%41%4", "data:,%zz", "data:,a,b", "data:text/plain;charset=utf-8;base64,aGk=",
		`data:text/plain;a="x,y",z`, "data:,é", "data:, ", "data:text/plain,a", "data:image/png;base64,aGk=", "data:;base64", "data:;base64,,", "data:x,y", "data:,\x00",
	} {
		f.Add(url)
	}
	for head := range commonHeads {
		f.Add(head + ",aGk=")
	}
	f.Fuzz(func(t *testing.T, url string) {
		if !strings.HasPrefix(url, "data:") {
			t.Skip()
		}
		want, err := dataurl.DecodeString(url)
		got, ok := DecodeDataURL(url)
		if ok != (err == nil) || ok && !bytes.Equal(got, want.Data) {
			t.Fatalf("%q: got %q %t, want %v %v", url, got, ok, want, err)
		}
	})
}
