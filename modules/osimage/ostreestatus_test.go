package osimage

import (
	"testing"

	"holdfast/modules/moduletest"
)

func TestADetailOfADeploymentIsNotADeployment(t *testing.T) {
	text := "* lab " + moduletest.V1 + ".0\n    Version: * lab " + moduletest.V2 + ".0 (staged)\n    origin refspec: (finalization locked)\n    `- lab " + moduletest.V2 + ".0 (staged)\n"
	got := statusText(text)
	if len(got) != 1 || got[0].Staged || got[0].Origin != "(finalization locked)" {
		t.Errorf("read %+v", got)
	}
}
