package content

import (
	"encoding/json"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"holdfast/engine/content/layout"
)

// registryPath is the path of the registry on the server, and imageName the name of the image in the registry. Hosts
// pull 127.0.0.1:PORT/os@DIGEST.
const (
	registryPath = "/v2/"
	imageName    = "os"
)

// registryHandler serves one image and its signatures to one host, as a registry (OCI distribution specification). It
// offers no uploads, no lists, and no other images.
type registryHandler struct {
	layout *layout.Layout
	image  layout.Image
	sent   *sentRanges // of blobs
}

// ServeHTTP answers one request.
func (h *registryHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	path, ok := strings.CutPrefix(r.URL.Path, registryPath)
	if ok && path == "" { // clients ask here whether the server is a registry
		writeJSON(w, http.StatusOK, struct{}{})
		return
	}
	path, named := strings.CutPrefix(path, imageName+"/")
	kind, reference, _ := strings.Cut(path, "/")
	if !ok || !named {
		writeRegistryError(w, "NAME_UNKNOWN", "the mirror serves the OS of this host only")
		return
	}
	switch kind {
	case "manifests":
		h.serveBlob(w, r, reference, true)
	case "blobs":
		h.serveBlob(w, r, reference, false)
	default:
		writeRegistryError(w, "UNSUPPORTED", "the mirror serves manifests and blobs only")
	}
}

func (h *registryHandler) serveBlob(w http.ResponseWriter, r *http.Request, reference string, manifest bool) {
	code := "BLOB_UNKNOWN"
	if manifest {
		code = "MANIFEST_UNKNOWN"
	}
	b, ok := h.findBlob(reference, manifest)
	if !ok {
		writeRegistryError(w, code, "it is not part of the OS of this host")
		return
	}
	f, info, err := h.layout.OpenBlob(b.Digest)
	if err != nil { // the file is missing; the host need not know why
		writeRegistryError(w, code, "it is not in the mirror")
		return
	}
	defer func() { _ = f.Close() }() // read only
	w.Header().Set("Content-Type", "application/octet-stream")
	if manifest {
		w.Header().Set("Content-Type", string(b.MediaType))
	}
	w.Header().Set("Docker-Content-Digest", b.Digest.String())
	w.Header().Set("Etag", `"`+b.Digest.String()+`"`)
	http.ServeContent(w, r, "", info.ModTime(), &countingFile{ReadSeeker: f, name: b.Digest.String(), sent: h.sent})
}

func (h *registryHandler) findBlob(reference string, manifest bool) (layout.Blob, bool) {
	digest, err := v1.NewHash(reference)
	if err != nil && manifest && reference == layout.SignatureTag(h.image.Digest) {
		digest, err = h.image.Signature, nil
	}
	b, ok := h.image.Blobs[digest]
	return b, err == nil && ok && (b.IsManifest || !manifest)
}

func writeRegistryError(w http.ResponseWriter, code, message string) {
	type problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	writeJSON(w, http.StatusNotFound, map[string][]problem{"errors": {{code, message}}})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil { // cannot happen: the callers' values have only texts
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the host may have disconnected
}
