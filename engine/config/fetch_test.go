package config

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func hashOf(text string) string {
	s := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(s[:])
}

func gzipText(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// serveFrom returns a fetch function for pages by address. Like a real fetch
// function, it decompresses and verifies the pages.
func serveFrom(pages map[string][]byte, asked *[]Remote) func(Remote) ([]byte, error) {
	return func(r Remote) ([]byte, error) {
		*asked = append(*asked, r)
		page, ok := pages[r.URL]
		if !ok {
			return nil, errors.New("not found")
		}
		return r.Contents(page)
	}
}

const remoteDocument = `{"ignition": {"version": "3.4.0"}, "storage": {"files": [
 {"path": "/etc/a", "contents": {"source": "https://x.example/a", "verification": {"hash": "%s"}, "httpHeaders": [{"name": "Authorization", "value": "token"}]}},
 {"path": "/etc/b", "contents": {"source": "http://x.example/b.gz", "compression": "gzip", "verification": {"hash": "%s"}},
  "append": [{"source": "https://x.example/a", "verification": {"hash": "%s"}}]}]}}`

func TestContentsFromElsewhereAreEmbedded(t *testing.T) {
	var asked []Remote
	loaded, err := Load(Source{
		FS: fstest.MapFS{"x.ign": {Data: fmt.Appendf(nil, remoteDocument, hashOf("A"), hashOf("B"), hashOf("A"))}}, Paths: []string{"x.ign"},
		Fetch: serveFrom(map[string][]byte{"https://x.example/a": []byte("A"), "http://x.example/b.gz": gzipText("B")}, &asked),
	})
	if err != nil {
		t.Fatal(err)
	}
	files := loaded.Config.Files
	if string(files[0].Contents) != "A" || string(files[1].Contents)+string(files[1].Append) != "BA" {
		t.Errorf("got %+v", files)
	}
	if want := [][2]string{{"Authorization", "token"}}; !reflect.DeepEqual(asked[0].Headers, want) {
		t.Errorf("asked with %v, want %v", asked[0].Headers, want)
	}
	text, err := loaded.Ignition()
	if err != nil || strings.Contains(string(text), "x.example") {
		t.Errorf("%v, rendered: %s", err, text)
	}
	roundTrip(t, loaded)
}

func TestWhatCannotBeFetched(t *testing.T) {
	var asked []Remote
	doc := `{"ignition": {"version": "3.4.0"}, "storage": {"files": [
 {"path": "/etc/a", "contents": {"source": "https://ann:secret@x.example/a?token=secret#secret", "verification": {"hash": "` + hashOf("A") + `"}}},
 {"path": "/etc/b", "contents": {"source": "https://x.example/b", "verification": {"hash": "` + hashOf("A") + `"}}},
 {"path": "/etc/c", "contents": {"source": "https://x.example/b", "compression": "gzip", "verification": {"hash": "` + hashOf("B") + `"}}},
 {"path": "/etc/d", "contents": {"source": "https://x.example/b"}},
 {"path": "/etc/f", "contents": {"source": "https://ann:secret@x.example/none?token=secret"}},
 {"path": "/var/lib/kubelet/config.json", "contents": {"source": "https://x.example/none", "verification": {"hash": "` + hashOf("A") + `"}}},
 {"path": "/etc/e", "contents": {"source": "s3://x/b", "verification": {"hash": "` + hashOf("A") + `"}}}]}}`
	_, err := Load(Source{
		FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"},
		Fetch: serveFrom(map[string][]byte{"https://x.example/b": []byte("B")}, &asked),
	})
	want := `x.ign:2:44: storage.files[0].contents.source: cannot be fetched from https://x.example/a: not found
x.ign:3:44: storage.files[1].contents.source: cannot be fetched from https://x.example/b: its hash differs from verification.hash (after decompression)
x.ign:4:44: storage.files[2].contents.source: cannot be fetched from https://x.example/b: it is not gzip data, or it is larger than 64 MiB
x.ign:5:44: storage.files[3].contents.source: refers to remote contents without a hash; check them, and write verification.hash: ` + HashOf([]byte("B")) + `
x.ign:6:44: storage.files[4].contents.source: refers to remote contents (https:) without a hash; add verification.hash (sha512- and the output of sha512sum), or embed the contents as a data: URL (Butane: inline or local); it cannot be fetched from https://x.example/none: not found
x.ign:7:66: storage.files[5].contents.source: cannot be fetched from https://x.example/none: not found
x.ign:8:44: storage.files[6].contents.source: refers to remote contents (s3:), but only http and https are supported; embed the contents as a data: URL (Butane: inline or local)`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

// Nothing is fetched for a document that is refused anyway.
func TestNothingIsFetchedInVain(t *testing.T) {
	var asked []Remote
	doc := fmt.Sprintf(remoteDocument, hashOf("A"), "sha256-nonsense", hashOf("A"))
	_, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"}, Fetch: serveFrom(nil, &asked)})
	if err == nil || len(asked) > 0 {
		t.Errorf("%v; asked for %v", err, asked)
	}
}

func TestTextsAreDocuments(t *testing.T) {
	const doc = "variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /etc/motd, contents: {inline: %s}}]}\n"
	src := Source{
		FS: fstest.MapFS{"base/a.bu": {Data: fmt.Appendf(nil, doc, "file")}}, Paths: []string{"base", `config "m.bu" of pool w`},
		Texts: map[string]Text{`config "m.bu" of pool w`: {Name: "m.bu", Data: fmt.Sprintf(doc, "text")}},
	}
	loaded, err := Load(src)
	if err != nil || string(loaded.Config.Files[0].Contents) != "text" || loaded.Documents[1].Name != "m" {
		t.Errorf("%v %+v", err, loaded)
	}
	src.Texts[src.Paths[1]] = Text{Name: "m.bu", Data: "variant: fcos\nversion: 1.5.0\nstorag: {}\n"}
	_, err = Load(src)
	if want := `config "m.bu" of pool w:3:1: storag: is not a field`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s…", err, want)
	}
}

func TestPlacesOfSettings(t *testing.T) {
	doc := `kind: MachineConfig
metadata: {name: a}
spec:
  osImageURL: q.example/os
  kernelType: realtime
  extensions: [usbguard]
  kernelArguments: [nosmt]
---
variant: openshift
version: 4.18.0
metadata: {name: b, labels: {machineconfiguration.openshift.io/role: worker}}
openshift: {kernel_arguments: [quiet], fips: true}
---
kind: MachineConfig
metadata: {name: c, annotations: {machineconfiguration.openshift.io/generated-by-controller-version: x}}
spec: {osImageURL: q.example/default}
`
	loaded, err := Load(Source{FS: fstest.MapFS{"x.yaml": {Data: []byte(doc)}}, Paths: []string{"x.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"osImageURL": "x.yaml:4:15: spec.osImageURL", "kernelType": "x.yaml:5:15: spec.kernelType",
		"extensions": "x.yaml:6:16: spec.extensions[0]", "kernelArguments": "x.yaml:12:32: openshift.kernel_arguments[0]",
		"fips": "x.yaml:12:46: openshift.fips", "baseOSExtensionsContainerImage": "",
	} {
		if got := loaded.SettingPlace(setting).String(); got != want {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
	}
}

// A pull secret needs an entry for the registry of the host's OS image.
func TestPullSecretForTheOSOfTheInventory(t *testing.T) {
	doc := `{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/ostree/auth.json", "contents": {"source": "data:,%7B%22auths%22:%7B%22a.example%22:%7B%22auth%22:%22dTpw%22%7D%7D%7D"}}]}}`
	for image, want := range map[string]string{
		"": "", "a.example/os@sha256:1": "", "b.example/os@sha256:1": "x.ign:1:104: storage.files[0].contents: has no entry for b.example, from which the OS comes; add one",
	} {
		_, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"}, OSImage: image})
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestFilesAreReadOnce(t *testing.T) {
	doc := []byte("variant: fcos\nversion: 1.5.0\n")
	_, err := Load(Source{FS: fstest.MapFS{"base/a.bu": {Data: doc}, "base/b.bu": {Data: doc}}, Root: "/srv", Paths: []string{"base/a.bu", "base"}})
	if want := "/srv/base/a.bu: is listed twice, the second time by /srv/base; remove one: appended contents would be added twice"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
