package demo

import "testing"

func TestAllowSoftReboots(t *testing.T) {
	const text = "etcd_cluster \"main\" {\n}\n\npool \"etcd\" {\n  os {\n  }\n}\npool \"worker\" {\n}\n"
	const want = "etcd_cluster \"main\" {\n}\n\npool \"etcd\" {\n  reboot {\n    soft = \"auto\"\n  }\n  os {\n  }\n}\npool \"worker\" {\n  reboot {\n    soft = \"auto\"\n  }\n}\n"
	if got := allowSoftReboots(text); got != want {
		t.Errorf("%s", got)
	}
}
