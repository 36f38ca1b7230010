package content_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"holdfast/engine"
	"holdfast/engine/content"
	"holdfast/engine/event"
)

// makeLayout makes a layout with two images, and returns its folder and the
// images.
func makeLayout(t *testing.T) (folder ocilayout.Path, image, other v1.Image) {
	t.Helper()
	folder, err := ocilayout.Write(t.TempDir(), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	add := func() v1.Image {
		i, err := random.Image(700_000, 4)
		if err == nil {
			err = folder.AppendImage(i)
		}
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	return folder, add(), add()
}

func digestOf(t *testing.T, i interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	h, err := i.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// serveImage serves an image at a port of this machine, and returns the
// address.
func serveImage(t *testing.T, folder ocilayout.Path, image v1.Hash) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveTransfer(t, newServer(t, engine.Mirror{Layout: string(folder)}), l, content.Transfer{Host: "h", Content: engine.Content{Image: image.String()}})
	return l.Addr().String()
}

func digestReference(t *testing.T, address string, digest v1.Hash) name.Digest {
	t.Helper()
	r, err := name.NewDigest(address+"/os@"+digest.String(), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHostsPullImages checks that a registry client pulls an image through a forward of an SSH connection, with the
// right digests.
func TestHostsPullImages(t *testing.T) {
	t.Parallel()
	folder, image, _ := makeLayout(t)
	digest := digestOf(t, image)
	h := hostWithSSH(t)
	l, err := h.connect(t).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var last atomic.Int64
	once := serveTransfer(t, newServer(t, engine.Mirror{Layout: string(folder)}), l, content.Transfer{
		Host: h.name, Content: engine.Content{Image: digest.String()}, Report: func(p event.Progress) { last.Store(p.Bytes) },
	})
	pulled, err := remote.Image(digestReference(t, l.Addr().String(), digest))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(pulled); err != nil || digestOf(t, pulled) != digest {
		t.Errorf("pulled %s: %v", digestOf(t, pulled), err)
	}
	if once(); last.Load() < 4*700_000 {
		t.Errorf("%d bytes were reported", last.Load())
	}
}

// TestAnInterruptedBlobGoesOn checks that a client that has a part of a blob
// fetches only the rest.
func TestAnInterruptedBlobGoesOn(t *testing.T) {
	t.Parallel()
	folder, image, _ := makeLayout(t)
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest := digestOf(t, layers[0])
	url := "http://" + serveImage(t, folder, digestOf(t, image)) + "/v2/os/blobs/" + digest.String()
	var whole bytes.Buffer
	for _, part := range []string{"bytes=0-99999", "bytes=100000-"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Range", part)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&whole, answer.Body); err != nil || answer.StatusCode != http.StatusPartialContent {
			t.Errorf("%s: %s, %v", part, answer.Status, err)
		}
		_ = answer.Body.Close()
	}
	if sum, _, _ := v1.SHA256(&whole); sum != digest {
		t.Errorf("the parts have the digest %s, want %s", sum, digest)
	}
}

// TestOnlyThePinnedImageIsServed requests everything that a host must not get.
func TestOnlyThePinnedImageIsServed(t *testing.T) {
	t.Parallel()
	folder, image, other := makeLayout(t)
	digest := digestOf(t, image).String()
	if err := os.WriteFile(filepath.Join(string(folder), "secret"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	linked := digestOf(t, layers[1])
	path := filepath.Join(string(folder), "blobs/sha256", linked.Hex)
	address := serveImage(t, folder, digestOf(t, image))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"GET /v2/":                                                "200",
		"GET /v2/os/manifests/" + digest:                          "200",
		"HEAD /v2/os/manifests/" + digest:                         "200",
		"GET /v2/os/blobs/" + digest:                              "200",
		"HEAD /v2/os/blobs/" + digestOf(t, layers[0]).String():    "200",
		"GET /v2/os/manifests/" + digestOf(t, layers[0]).String(): "404",
		"GET /v2/os/blobs/" + linked.String():                     "404",
		"GET /v2/os/manifests/" + digestOf(t, other).String():     "404",
		"GET /v2/os/manifests/latest":                             "404",
		"GET /v2/os/manifests/sha256-" + digest[7:] + ".sig":      "404",
		"GET /v2/other/manifests/" + digest:                       "404",
		"GET /v2/_catalog":                                        "404",
		"GET /v2/os/tags/list":                                    "404",
		"GET /v2/os/referrers/" + digest:                          "404",
		"GET /v2/os/blobs/sha256:../../secret":                    "404",
		"GET /v2/os/blobs/../../secret":                           "404",
		"GET /v2":                                                 "404",
		"GET /index.json":                                         "404",
		"GET /ostree/config":                                      "404",
		"POST /v2/os/blobs/uploads/":                              "405",
		"PUT /v2/os/manifests/latest":                             "405",
		"DELETE /v2/os/manifests/" + digest:                       "405",
	} {
		got := sendRaw(t, address, request+" HTTP/1.1\r\nHost: h\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+want) || strings.Contains(got, "SECRET") {
			t.Errorf("%s answers %.200q, want %s", request, got, want)
		}
	}
}

// TestAnIncompleteImageIsNotServed checks that PrepareTransfer refuses an image that lacks blobs.
func TestAnIncompleteImageIsNotServed(t *testing.T) {
	t.Parallel()
	folder, image, _ := makeLayout(t)
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(string(folder), "blobs/sha256", digestOf(t, layers[0]).Hex)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(string(folder), "blobs/sha256", digestOf(t, layers[1]).Hex), 5); err != nil {
		t.Fatal(err)
	}
	missing := "sha256:" + strings.Repeat("0", 64)
	for digest, want := range map[string]string{digestOf(t, image).String(): "lacks 2 of its blobs", missing: "lacks 1 of its blobs"} {
		_, err := newServer(t, engine.Mirror{Layout: string(folder)}).PrepareTransfer(t.Context(), content.Transfer{Host: "h", Content: engine.Content{Image: digest}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "holdfast mirror --from docker://") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for folder, want := range map[string]string{"": "add layout", t.TempDir(): "makes it", filepath.Join(t.TempDir(), "none"): "makes it"} {
		_, err := newServer(t, engine.Mirror{Layout: folder}).PrepareTransfer(t.Context(), content.Transfer{Host: "h", Content: engine.Content{Image: missing}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("served from %q: %v", folder, err)
		}
	}
}

// signImage adds a sigstore signature of an image to the layout, and returns the public key.
func signImage(t *testing.T, folder ocilayout.Path, repository string, digest v1.Hash) (publicKey []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	payload := fmt.Sprintf(`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, repository, digest)
	sum := sha256.Sum256([]byte(payload))
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer:       static.NewLayer([]byte(payload), "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
	})
	if err == nil {
		image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
		err = folder.AppendImage(image, ocilayout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "sha256-" + digest.Hex + ".sig"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// TestToolsOfHostsTakeTheImage pulls the image with skopeo, which rpm-ostree and bootc run to fetch images. The
// configuration is the one that the scripts write: skopeo uses the name of the image and fetches from the port, and the
// signature policy of the host applies.
func TestToolsOfHostsTakeTheImage(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("skopeo")
	if err != nil {
		t.Skip("there is no skopeo here")
	}
	const repository = "quay.invalid/acme/os"
	folder, image, other := makeLayout(t)
	digest, unsigned := digestOf(t, image), digestOf(t, other)
	dir := t.TempDir() // the /etc of skopeo
	write := func(path, text string) { writeFiles(t, dir, map[string]string{path: text}) }
	write("passwd", "root:x:0:0::/root:/bin/sh\n")
	write("containers/key.pub", string(signImage(t, folder, repository, digest)))
	const signed = `{"type":"sigstoreSigned","keyPath":"/etc/containers/key.pub","signedIdentity":{"type":"matchRepository"}}`
	for _, c := range []struct {
		pin      v1.Hash
		demand   string
		accepted bool
	}{{digest, signed, true}, {unsigned, signed, false}, {unsigned, `{"type":"insecureAcceptAnything"}`, true}, {digest, `{"type":"reject"}`, false}} {
		address := serveImage(t, folder, c.pin)
		write("containers/policy.json", fmt.Sprintf(`{"default":[{"type":"reject"}],"transports":{"docker":{%q:[%s]}}}`, repository, c.demand))
		write("containers/registries.conf.d/zz-holdfast.conf", fmt.Sprintf("[[registry]]\nprefix = '%s'\nlocation = '%s/os'\ninsecure = true\n", repository, address))
		write("containers/registries.d/zz-holdfast.yaml", "docker:\n  "+address+":\n    use-sigstore-attachments: true\n")
		cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc && exec "$@"`, dir,
			tool, "copy", "docker://"+repository+"@"+c.pin.String(), "dir:"+t.TempDir())
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "Operation not permitted") {
			t.Skip("there are no mount namespaces here")
		}
		if strings.Contains(string(out), "sigstore disabled") { // skopeo of Debian 12
			t.Skip("skopeo is built without sigstore here")
		}
		if c.accepted && err != nil || !c.accepted && (err == nil || !strings.Contains(string(out), "Source image rejected")) {
			t.Errorf("%s: accepted should be %v: %v: %s", c.demand, c.accepted, err, out)
		}
	}
}
