package kube

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/textutil"
)

// Files reads files that the operator names.
type Files interface {
	ReadFile(path string) ([]byte, error)
}

// maxKubeconfig bounds a kubeconfig and each file that it names, in bytes.
const maxKubeconfig = 4 << 20

// login is the way to log in to one API.
type login struct {
	config *rest.Config
	plugin *api.ExecConfig // program that gets the credentials; nil: config has them
}

// readLogin reads the kubeconfig of a cluster, and all files that it names, except that of a token: a program replaces
// that file while a run lasts.
func readLogin(c engine.KubernetesCluster, files Files, now time.Time) (login, *kubefacts.Problem) {
	data, problem := readNamed(c, files, "kubeconfig", c.Kubeconfig)
	if problem != nil {
		return login{}, problem
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return login{}, problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("%s is not a kubeconfig: %s", c.Kubeconfig, errorText(err)), Hint: "compare it with: kubectl config view --kubeconfig " + c.Kubeconfig})
	}
	user, cluster, problem := selectContext(c, config)
	if problem != nil {
		return login{}, problem
	}
	for _, named := range []struct {
		path *string
		data *[]byte
	}{
		{&cluster.CertificateAuthority, &cluster.CertificateAuthorityData},
		{&user.ClientCertificate, &user.ClientCertificateData},
		{&user.ClientKey, &user.ClientKeyData},
	} {
		if len(*named.data) > 0 || *named.path == "" {
			continue
		}
		if *named.data, problem = readNamed(c, files, "kubeconfig", *named.path); problem != nil {
			return login{}, problem
		}
		*named.path = ""
	}
	if user.TokenFile != "" {
		if _, problem := readNamed(c, files, "kubeconfig", user.TokenFile); problem != nil {
			return login{}, problem
		}
	}
	if problem := checkCertificate(c, user.ClientCertificateData, now); problem != nil {
		return login{}, problem
	}
	l := login{plugin: user.Exec}
	user.Exec = nil // so that client-go does not run it: it would wait for ever, and read any amount
	l.config, err = clientcmd.NewNonInteractiveClientConfig(*config, contextOf(c, config), &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err == nil {
		_, err = rest.TransportFor(l.config)
	}
	if err != nil {
		return login{}, problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("%s cannot be used: %s", c.Kubeconfig, errorText(err)), Hint: "compare it with: kubectl config view --kubeconfig " + c.Kubeconfig})
	}
	if server := serverURL(l.config); sendsInClear(server) {
		return login{}, problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("the server %s of %s would get the credentials without encryption", server, c.Kubeconfig), Hint: "name its address with https"})
	}
	return l, nil
}

// sendsInClear reports whether requests to a server cross a network without encryption. The address of kubectl proxy does not.
func sendsInClear(server string) bool {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "localhost" && (err != nil || !address.IsLoopback())
}

func contextOf(c engine.KubernetesCluster, config *api.Config) string {
	if c.Context != "" {
		return c.Context
	}
	return config.CurrentContext
}

// selectContext finds user and cluster of the context, with absolute paths.
func selectContext(c engine.KubernetesCluster, config *api.Config) (*api.AuthInfo, *api.Cluster, *kubefacts.Problem) {
	name := contextOf(c, config)
	known := slices.Sorted(maps.Keys(config.Contexts))
	ctx := config.Contexts[name]
	switch {
	case name == "":
		return nil, nil, problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.ContextUnknown, Cause: c.Kubeconfig + " has no current context", Hint: "set context to one of its contexts: " + nameSome(known)})
	case ctx == nil && len(known) == 0:
		return nil, nil, problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.ContextUnknown, Cause: c.Kubeconfig + " has no contexts", Hint: "name the kubeconfig of the cluster"})
	case ctx == nil:
		hint := "its contexts are " + nameSome(known)
		if near := textutil.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, nil, problemAt(c, "context", kubefacts.Problem{Kind: kubefacts.ContextUnknown, Cause: fmt.Sprintf("%s has no context %q", c.Kubeconfig, name), Hint: hint})
	}
	user, cluster := config.AuthInfos[ctx.AuthInfo], config.Clusters[ctx.Cluster]
	if cluster == nil {
		return nil, nil, problemAt(c, "context", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("context %q of %s names cluster %q, which the file does not have", name, c.Kubeconfig, ctx.Cluster), Hint: "add the cluster, or choose another context"})
	}
	if user == nil {
		if ctx.AuthInfo != "" {
			return nil, nil, problemAt(c, "context", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("context %q of %s names user %q, which the file does not have", name, c.Kubeconfig, ctx.AuthInfo), Hint: "add the user, or choose another context"})
		}
		user = api.NewAuthInfo()
	}
	paths := append(clientcmd.GetClusterFileReferences(cluster), clientcmd.GetAuthInfoFileReferences(user)...)
	if err := clientcmd.ResolvePaths(paths, path.Dir(c.Kubeconfig)); err != nil {
		return nil, nil, problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("%s: %s", c.Kubeconfig, errorText(err)), Hint: "write absolute paths in it"})
	}
	return user, cluster, nil
}

// nameSome lists names of a kubeconfig for a message.
func nameSome(names []string) string {
	const most = 8
	return textutil.Printable(strings.Join(textutil.AndMore(names[:min(most, len(names))], len(names)), ", "))
}

func readNamed(c engine.KubernetesCluster, files Files, argument, name string) ([]byte, *kubefacts.Problem) {
	data, err := files.ReadFile(name)
	switch {
	case err != nil:
		return nil, problemAt(c, argument, kubefacts.Problem{Kind: kubefacts.KubeconfigMissing, Cause: fmt.Sprintf("%s cannot be read: %s", textutil.Printable(name), textutil.ErrorWithoutPath(err)), Hint: "put it on the bastion, or name another file"})
	case len(data) > maxKubeconfig:
		return nil, problemAt(c, argument, kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("%s is longer than %d MiB", textutil.Printable(name), maxKubeconfig>>20), Hint: "name the kubeconfig of the cluster"})
	}
	return data, nil
}

// checkCertificate refuses a client certificate outside its time: the server would only say that the client is not
// authorized.
func checkCertificate(c engine.KubernetesCluster, data []byte, now time.Time) *kubefacts.Problem {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil // none, or one that TransportFor refuses
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	const layout = "2006-01-02 15:04 MST"
	switch {
	case now.After(cert.NotAfter):
		return problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.CertificateExpired, Cause: fmt.Sprintf("the client certificate in %s expired on %s", c.Kubeconfig, cert.NotAfter.UTC().Format(layout)), Hint: "renew it (kubeadm certs renew), and copy the kubeconfig to the bastion"})
	case now.Before(cert.NotBefore):
		return problemAt(c, "kubeconfig", kubefacts.Problem{Kind: kubefacts.CertificateExpired, Cause: fmt.Sprintf("the client certificate in %s is not valid before %s", c.Kubeconfig, cert.NotBefore.UTC().Format(layout)), Hint: "set the clock of the bastion, which says " + now.UTC().Format(layout)})
	}
	return nil
}

// problemAt adds the position of an argument of the cluster.
func problemAt(c engine.KubernetesCluster, argument string, p kubefacts.Problem) *kubefacts.Problem {
	p.Position = c.Position(argument)
	return &p
}

// maxErrorText bounds the text of an error of another library or of a server, in bytes.
const maxErrorText = 300

func errorText(err error) string { return shortenText(err.Error()) }

// shortenText returns the beginning of a text on one line, and keeps nothing else of it in memory.
func shortenText(text string) string {
	const most = 64 << 10 // with the spaces that go
	text = textutil.Printable(textutil.HideURLPasswords(text[:min(len(text), most)]))
	return strings.Clone(textutil.CutText(strings.Join(strings.Fields(text), " "), maxErrorText))
}
