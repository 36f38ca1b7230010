# bootc goes back only to an image, so it is asked only if ostree has no set-default (before 2023.6).
restore_previous() { ostree admin set-default "$index" || bootc rollback; }
restore_running() { ostree admin set-default "$bootedindex" || bootc rollback; } # if another OS is the default, bootc always puts the running one on top (deploy.rs of 1.16)
drop_staged() { ostree admin undeploy 0; }                                      # a staged deployment is always the first
