package content

import (
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/engine/content/archive"
)

// repositoryPath is the path of the repository on the server.
const repositoryPath = "/ostree/"

// archiveConfig is the config file for hosts. The config file of the repository itself may contain passwords of
// remotes.
const archiveConfig = "[core]\nrepo_version=1\nmode=archive-z2\n"

// servedNames lists the files and folders of a repository that hosts need.
var servedNames = []string{"deltas", "delta-indexes", "objects", "refs", "summaries", "summary", "summary.idx", "summary.idx.sig", "summary.sig"}

// repositoryHandler serves the files of a repository to one host.
type repositoryHandler struct {
	repository *archive.Repository
	sent       *sentRanges       // of files
	deltaFound func(name string) // called with the superblock of a delta that the host fetches
}

// readOnly refuses all requests except GET and HEAD.
type readOnly struct{ next http.Handler }

// ServeHTTP answers one request.
func (h readOnly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the mirror is read-only", http.StatusMethodNotAllowed)
		return
	}
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // the server does not read the rest of the request
		http.Error(w, "the mirror takes no data", http.StatusBadRequest)
		return
	}
	h.next.ServeHTTP(w, r)
}

// ServeHTTP answers one request.
func (h *repositoryHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, repositoryPath)
	if !ok || !fs.ValidPath(name) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if name == "config" {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(archiveConfig))
		return
	}
	top, _, _ := strings.Cut(name, "/")
	if !slices.Contains(servedNames, top) {
		http.NotFound(w, r)
		return
	}
	f, info, err := h.repository.OpenFile(name)
	if err != nil { // the file is missing, or not a regular file; the host need not know
		http.NotFound(w, r)
		return
	}
	defer func() { _ = f.Close() }() // read only
	if top == "deltas" && strings.HasSuffix(name, "/superblock") {
		h.deltaFound(name)
	}
	http.ServeContent(w, r, "", info.ModTime(), &countingFile{ReadSeeker: f, name: name, sent: h.sent})
}
