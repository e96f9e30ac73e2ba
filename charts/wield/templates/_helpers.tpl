{{- define "wield.name" -}}
{{- printf "%s" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "wield.labels" -}}
app.kubernetes.io/name: wield
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "wield.secret" -}}
{{- .Values.secret.name | default (include "wield.name" .) -}}
{{- end -}}

{{/* What every pod of wield has: no rights, a read-only root, a place for its state. */}}
{{- define "wield.pod" -}}
serviceAccountName: {{ include "wield.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: state
    emptyDir: {}
  - name: tmp
    emptyDir: {}
  - name: secret
    secret:
      secretName: {{ include "wield.secret" . }}
      defaultMode: 0440
{{- end -}}

{{- define "wield.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
livenessProbe:
  httpGet: { path: /healthz, port: 7070 }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: 7070 }
  periodSeconds: 5
  timeoutSeconds: 3
{{- end -}}

{{- define "wield.env" -}}
# Below the volume, which others may write to: the home is private.
- name: WIELD_HOME
  value: /var/lib/wield/home
- name: WIELD_FLEET
  value: {{ .Values.fleet.url | quote }}
- name: WIELD_FLEET_KEY
  valueFrom:
    secretKeyRef: { name: {{ include "wield.secret" . }}, key: fleet-key }
- name: WIELD_FLEET_PASSWORD
  valueFrom:
    secretKeyRef: { name: {{ include "wield.secret" . }}, key: fleet-password, optional: true }
{{- end -}}
