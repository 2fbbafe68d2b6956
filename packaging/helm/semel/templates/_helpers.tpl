{{- define "semel.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "semel.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "semel.selector" -}}
app.kubernetes.io/name: {{ include "semel.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "semel.labels" -}}
{{ include "semel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "semel.account" -}}
{{- default (include "semel.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* A store that is a file, or keeps its outcomes in one, which one process at a time may have: sqlite:FILE, CLAIMS+sqlite:FILE, or the same as a map. */}}
{{- define "semel.isEmbedded" -}}
{{- $store := .Values.config.store -}}
{{- if kindIs "map" $store -}}{{- $store = toString (default "" $store.outcomes) -}}{{- end -}}
{{- if regexMatch "(^|\\+)sqlite:" $store -}}yes{{- end -}}
{{- end -}}

{{/* What the kubelet and Prometheus speak to the admin side. */}}
{{- define "semel.adminScheme" -}}
{{- if .Values.config.admin.tls -}}HTTPS{{- else -}}HTTP{{- end -}}
{{- end -}}

{{/* A duration of the settings (a whole number and a unit) in seconds, rounded up. */}}
{{- define "semel.seconds" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9]+" $text | int64 -}}
{{- $unit := regexFind "[a-z]+$" $text -}}
{{- if eq $unit "ms" -}}{{- div (add $number 999) 1000 -}}
{{- else if eq $unit "s" -}}{{- $number -}}
{{- else if eq $unit "m" -}}{{- mul $number 60 -}}
{{- else if eq $unit "h" -}}{{- mul $number 3600 -}}
{{- else -}}{{- fail (printf "expected a duration such as 30s for drain and drain_pause, found %q" $text) -}}
{{- end -}}
{{- end -}}

{{/* How long Semel takes to end: drain_pause and drain of the gateway or of the inbox, whichever is longer. */}}
{{- define "semel.endsIn" -}}
{{- $gateway := (.Values.config.gateway).timeouts -}}
{{- $inbox := (.Values.config.inbox).timeouts -}}
{{- $most := 0 -}}
{{- range list $gateway $inbox -}}
{{- $pause := include "semel.seconds" (default "0s" (.).drain_pause) -}}
{{- $drain := include "semel.seconds" (default "30s" (.).drain) -}}
{{- $most = max $most (add $pause $drain) -}}
{{- end -}}
{{- $most -}}
{{- end -}}

{{/* How long the application beside Semel waits before it is asked to end: until Semel has. */}}
{{- define "semel.applicationWaits" -}}
{{- with .Values.application.preStopSeconds -}}{{- . | int64 -}}{{- else -}}{{- add (include "semel.endsIn" .) 1 -}}{{- end -}}
{{- end -}}

{{/* The container of the application, which ends after Semel unless it says itself what it does before it stops. */}}
{{- define "semel.application" -}}
{{- $container := deepCopy .Values.application.container -}}
{{- $lifecycle := default dict $container.lifecycle -}}
{{- if not $lifecycle.preStop -}}
{{- $seconds := include "semel.applicationWaits" . | int64 -}}
{{- $waits := dict "exec" (dict "command" (list "sleep" (toString $seconds))) -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- $waits = dict "sleep" (dict "seconds" $seconds) -}}
{{- end -}}
{{- $_ := set $container "lifecycle" (merge (dict "preStop" $waits) $lifecycle) -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}

{{/* The secret with the token of Prometheus, as JSON; nothing if the admin side wants none. */}}
{{- define "semel.monitorToken" -}}
{{- $secret := .Values.serviceMonitor.tokenSecret -}}
{{- if and (not $secret) .Values.config.admin.token -}}
{{- range .Values.secretEnv -}}
{{- if eq .name "SEMEL_ADMIN_TOKEN" -}}{{- $secret = dict "name" .secret "key" .key -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $secret -}}{{- toJson (dict "name" $secret.name "key" $secret.key) -}}
{{- else if or .Values.config.admin.token .Values.config.admin.tokens -}}
{{- fail "serviceMonitor.enabled needs serviceMonitor.tokenSecret: the secret and the key of a token of config.admin.tokens with the role read" -}}
{{- end -}}
{{- end -}}

{{/* Values that each are well and cannot work together. */}}
{{- define "semel.check" -}}
{{- if and (include "semel.isEmbedded" .) (gt (int .Values.replicas) 1) -}}
{{- fail "replicas is more than 1 and config.store keeps records in a file (sqlite): name a store that all replicas reach, such as postgres://" -}}
{{- end -}}
{{- if and (include "semel.isEmbedded" .) (not .Values.persistence.enabled) (not .Values.persistence.ephemeral) -}}
{{- fail "persistence.enabled is false and config.store keeps records in a file (sqlite): each new pod would forget what has happened; say persistence.ephemeral: true if that is meant" -}}
{{- end -}}
{{- if and (eq .Values.mode "sidecar") (not .Values.application.container) -}}
{{- fail "the mode sidecar needs application.container" -}}
{{- end -}}
{{- range list "admin" "gateway" "inbox" -}}
{{- $listen := toString (default "" (index $.Values.config . | default dict).listen) -}}
{{- if regexMatch "^(127\\.|\\[[0:]+1\\]|\\[::ffff:127\\.)" $listen -}}
{{- fail (printf "config.%s.listen is %s, which only the pod itself reaches: neither the kubelet nor the service does; name 0.0.0.0" . $listen) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.service.inbox (not (.Values.config.inbox).listen) -}}
{{- fail "service.inbox needs config.inbox.listen: 0.0.0.0:7072" -}}
{{- end -}}
{{- if (.Values.config.admin.tls).client_ca -}}
{{- fail "config.admin.tls.client_ca cannot work here: the kubelet has no certificate to show, so every probe would fail" -}}
{{- end -}}
{{- $grace := int64 .Values.terminationGracePeriodSeconds -}}
{{- $ends := include "semel.endsIn" . | int64 -}}
{{- if lt $grace $ends -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, and drain_pause and drain take %d" $grace $ends) -}}
{{- end -}}
{{- $waits := include "semel.applicationWaits" . | int64 -}}
{{- if and (eq .Values.mode "sidecar") (le $grace $waits) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, and the application is asked to end after %d: it needs time for that" $grace $waits) -}}
{{- end -}}
{{- end -}}
