package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"time"

	"k8s.io/client-go/rest"

	"holdfast/engine/kubefacts"
)

// Programs runs a program on the bastion, with an environment besides that of holdfast, and returns its standard
// output. It ends the program with the context.
type Programs interface {
	Output(ctx context.Context, words, env []string) ([]byte, error)
}

// pluginTime bounds a plugin: it may ask a server, but no person.
const pluginTime = 20 * time.Second

// askPlugin runs the plugin of a kubeconfig for credentials, and adds them to a copy of the configuration. The time is
// the end of the credentials; the zero time: not known.
func (c *Client) askPlugin(ctx context.Context, l login) (*rest.Config, time.Time, *kubefacts.Problem) {
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	words := append([]string{l.plugin.Command}, l.plugin.Args...)
	output, err := c.bastion.Programs.Output(ctx, words, pluginEnvironment(l))
	name := path.Base(l.plugin.Command)
	hint := "try it: kubectl get nodes --kubeconfig " + c.cluster.Kubeconfig
	switch {
	case ctx.Err() != nil:
		return nil, time.Time{}, problemAt(c.cluster, "kubeconfig", kubefacts.Problem{Kind: kubefacts.PluginHangs, Cause: fmt.Sprintf("the plugin %s, which logs in, did not end in time", name), Hint: "it must not wait for a person; " + hint})
	case err != nil:
		return nil, time.Time{}, problemAt(c.cluster, "kubeconfig", kubefacts.Problem{Kind: kubefacts.PluginFailed, Cause: fmt.Sprintf("the plugin %s, which logs in, failed: %s", name, errorText(err)), Hint: hint})
	}
	var got credential
	if err := json.Unmarshal(output, &got); err != nil || got.Kind != "ExecCredential" {
		return nil, time.Time{}, problemAt(c.cluster, "kubeconfig", kubefacts.Problem{Kind: kubefacts.PluginFailed, Cause: fmt.Sprintf("the plugin %s, which logs in, printed no ExecCredential", name), Hint: hint})
	}
	if got.Status.Token == "" && got.Status.ClientCertificateData == "" {
		return nil, time.Time{}, problemAt(c.cluster, "kubeconfig", kubefacts.Problem{Kind: kubefacts.PluginFailed, Cause: fmt.Sprintf("the plugin %s, which logs in, printed neither a token nor a certificate", name), Hint: hint})
	}
	config := rest.CopyConfig(l.config)
	if got.Status.Token != "" {
		config.BearerToken = got.Status.Token
	}
	if got.Status.ClientCertificateData != "" {
		config.CertData, config.KeyData = []byte(got.Status.ClientCertificateData), []byte(got.Status.ClientKeyData)
	}
	return config, got.Status.ExpirationTimestamp, nil
}

// pluginEnvironment returns the variables of the kubeconfig, and the one that tells a plugin its task.
func pluginEnvironment(l login) []string {
	var env []string
	for _, v := range l.plugin.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	spec := map[string]any{"interactive": false}
	if l.plugin.ProvideClusterInfo {
		spec["cluster"] = clusterInfo(l)
	}
	task, _ := json.Marshal(map[string]any{"apiVersion": l.plugin.APIVersion, "kind": "ExecCredential", "spec": spec}) // strings and booleans only
	return append(env, "KUBERNETES_EXEC_INFO="+string(task))
}

func clusterInfo(l login) map[string]any {
	info := map[string]any{"server": l.config.Host}
	if l.config.ServerName != "" {
		info["tls-server-name"] = l.config.ServerName
	}
	if l.config.Insecure {
		info["insecure-skip-tls-verify"] = true
	}
	if len(l.config.CAData) > 0 {
		info["certificate-authority-data"] = l.config.CAData
	}
	return info
}
