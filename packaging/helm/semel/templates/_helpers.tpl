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

{{/* An embedded store is one file, which one process at a time may have. */}}
{{- define "semel.isEmbedded" -}}
{{- if kindIs "string" .Values.config.store -}}
{{- if hasPrefix "sqlite:" .Values.config.store -}}yes{{- end -}}
{{- end -}}
{{- end -}}
