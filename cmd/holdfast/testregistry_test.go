package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	oci "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/rogpeppe/go-internal/testscript"
)

// startRegistry starts a registry on the loopback. Its repository $NAME has an image for two platforms with a tag where
// sigstore keeps its signatures, and one in the format of Docker. $DIGEST, $DOCKER and $PLATFORM are the hexadecimal
// digits of the digests of the first, of the second, and of the second for one platform.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: registry")
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	ts.Defer(server.Close)
	repository, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/acme/os")
	ts.Check(err)
	digest := pushIndex(ts, repository)
	signatures := imageOf(ts, mutate.Addendum{
		Layer:       static.NewLayer([]byte(`{"critical":{}}`), "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": "c2lnbmF0dXJl"},
	})
	ts.Check(remote.Write(repository.Tag("sha256-"+digest.Hex+".sig"), signatures))
	docker, err := random.Index(100_000, 1, 2)
	ts.Check(err)
	docker = mutate.IndexMediaType(docker, types.DockerManifestList)
	ts.Check(remote.WriteIndex(repository.Tag("docker"), docker))
	list, err := docker.IndexManifest()
	ts.Check(err)
	dockerDigest, err := docker.Digest()
	ts.Check(err)
	ts.Setenv("NAME", repository.Name())
	ts.Setenv("DIGEST", digest.Hex)
	ts.Setenv("DOCKER", dockerDigest.Hex)
	ts.Setenv("PLATFORM", list.Manifests[0].Digest.Hex)
}

// pushIndex pushes an index with images for this platform and another one.
func pushIndex(ts *testscript.TestScript, repository name.Repository) oci.Hash {
	list := oci.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	other := map[bool]string{true: "arm64", false: "amd64"}[runtime.GOARCH == "amd64"]
	for _, arch := range []string{runtime.GOARCH, other} {
		layer, err := random.Layer(100_000, types.OCILayer)
		ts.Check(err)
		image := imageOf(ts, mutate.Addendum{Layer: layer})
		d, err := partial.Descriptor(image)
		ts.Check(err)
		d.Platform = &oci.Platform{OS: "linux", Architecture: arch}
		d.ArtifactType = "" // skopeo 1.9 drops this field, and then complains that the digest of the index has changed
		list.Manifests = append(list.Manifests, *d)
		ts.Check(remote.Write(repository.Digest(d.Digest.String()), image))
	}
	data, err := json.Marshal(list)
	ts.Check(err)
	digest, _, err := oci.SHA256(strings.NewReader(string(data)))
	ts.Check(err)
	ts.Check(remote.Put(repository.Tag("1"), rawIndex(data)))
	return digest
}

// rawIndex is the JSON of an index. It implements remote.Taggable.
type rawIndex []byte

func (r rawIndex) RawManifest() ([]byte, error) { return r, nil }

func (rawIndex) MediaType() (types.MediaType, error) { return types.OCIImageIndex, nil }

// imageOf returns an image with one layer in the format of OCI.
func imageOf(ts *testscript.TestScript, layer mutate.Addendum) oci.Image {
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	ts.Check(err)
	return image
}
