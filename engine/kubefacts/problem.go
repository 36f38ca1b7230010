package kubefacts

// Problem is the reason why an API of Kubernetes did not tell its facts.
type Problem struct {
	Kind     ProblemKind `json:"kind"`
	Position string      `json:"position,omitempty"` // FILE:LINE:COLUMN in the inventory; "": not known
	Cause    string      `json:"cause"`              // a sentence
	Hint     string      `json:"hint"`               // the next step
}

// Error returns the cause and the next step, after the position.
func (p *Problem) Error() string { return p.TextOf("") }

// Text returns the cause and the next step, for the middle of a line.
func (p *Problem) Text() string { return p.Cause + "; " + p.Hint }

// TextOf returns the cause and the next step for a subject. As in all messages, the position is at the beginning.
func (p *Problem) TextOf(subject string) string {
	text := p.Text()
	if subject != "" {
		text = subject + ": " + text
	}
	if p.Position != "" {
		text = p.Position + ": " + text
	}
	return text
}

// ProblemKind is the kind of a problem with an API.
type ProblemKind string

// The kinds of problems.
const (
	KubeconfigMissing  ProblemKind = "kubeconfig-missing"  // the kubeconfig, or a file that it names, cannot be read
	KubeconfigInvalid  ProblemKind = "kubeconfig-invalid"  // it is no kubeconfig
	ContextUnknown     ProblemKind = "context-unknown"     // it does not have the context
	CertificateExpired ProblemKind = "certificate-expired" // the client certificate is not valid at this time
	PluginFailed       ProblemKind = "plugin-failed"       // the plugin that logs in ended with an error
	PluginHangs        ProblemKind = "plugin-hangs"        // it did not end
	Unreachable        ProblemKind = "unreachable"         // nothing answers, or not in time
	ServerUntrusted    ProblemKind = "server-untrusted"    // the certificate of the server is not trusted
	Unauthorized       ProblemKind = "unauthorized"        // 401
	Forbidden          ProblemKind = "forbidden"           // 403
	TooManyRequests    ProblemKind = "too-many-requests"   // 429, again and again
	ServerError        ProblemKind = "server-error"        // 5xx, again and again
	NotKubernetes      ProblemKind = "not-kubernetes"      // the answer is not of an API of Kubernetes
	ListExpired        ProblemKind = "list-expired"        // 410: the list expired before its last page, again and again
	ListEndless        ProblemKind = "list-endless"        // a list with more pages than any cluster has
	TooLarge           ProblemKind = "too-large"           // an answer with more bytes than any cluster needs
)

// IsOfBastion reports whether a person must change the kubeconfig or the rights of its user. The API may run, so a drain must not be skipped for
// it. Credentials and certificates that have expired do not count: they are renewed with the help of the hosts that the API runs on.
func (k ProblemKind) IsOfBastion() bool {
	switch k {
	case KubeconfigMissing, KubeconfigInvalid, ContextUnknown, Forbidden:
		return true
	case Unreachable, TooManyRequests, ServerError, ListExpired, CertificateExpired, PluginFailed, PluginHangs,
		ServerUntrusted, Unauthorized, NotKubernetes, ListEndless, TooLarge:
	}
	return false
}
