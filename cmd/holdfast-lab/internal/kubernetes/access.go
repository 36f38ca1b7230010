package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Users of the API other than the stand-ins for kubelets. Each has a kubeconfig of its name.
const (
	Admin      = "admin"
	Holdfast   = "holdfast" // has the rights in rbac.yaml and no others
	controller = "system:kube-controller-manager"
	scheduler  = "system:kube-scheduler"
)

// Folder has the files of a cluster.
type Folder string

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// Kubeconfig returns the path of the kubeconfig of a user.
func (f Folder) Kubeconfig(user string) string {
	return f.path(strings.TrimPrefix(user, "system:") + ".kubeconfig")
}

// MakeAccess makes the keys of the API server, and a token and a kubeconfig of each user and each node.
func (f Folder) MakeAccess(c Cluster, nodes []Node) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("make access to Kubernetes: %w", err)
	}
	ca, err := pki.NewAuthority("kubernetes")
	if err != nil {
		return err
	}
	server, err := ca.Issue("kube-apiserver", spec.Gateway, "127.0.0.1", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	private, public, err := newAccountKey()
	if err != nil {
		return fmt.Errorf("make access to Kubernetes: %w", err)
	}
	files := map[string][]byte{"ca.crt": ca.Cert, "server.crt": server.Cert, "server.key": server.Key, "accounts.key": private, "accounts.pub": public}
	users := []string{Admin, Holdfast, controller, scheduler}
	for _, n := range nodes {
		users = append(users, n.userName())
	}
	var tokens strings.Builder
	for i, user := range users {
		token := rand.Text()
		fmt.Fprintf(&tokens, "%s,%s,%d,%q\n", token, user, i, groupOf(user))
		if files[filepath.Base(f.Kubeconfig(user))], err = renderKubeconfig(c, user, token, ca.Cert); err != nil {
			return fmt.Errorf("make access to Kubernetes: %w", err)
		}
	}
	files["tokens.csv"] = []byte(tokens.String())
	for name, content := range files {
		if err := os.WriteFile(f.path(name), content, 0o600); err != nil {
			return fmt.Errorf("make access to Kubernetes: %w", err)
		}
	}
	return nil
}

func groupOf(user string) string {
	switch {
	case user == Admin:
		return "system:masters"
	case strings.HasPrefix(user, nodePrefix):
		return "system:nodes"
	}
	return ""
}

func newAccountKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	pub, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub}), nil
}

func renderKubeconfig(of Cluster, user, token string, ca []byte) ([]byte, error) {
	const name = "lab"
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: of.URL(), CertificateAuthorityData: ca}
	c.AuthInfos[user] = &api.AuthInfo{Token: token}
	c.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	c.CurrentContext = name
	return clientcmd.Write(*c)
}
