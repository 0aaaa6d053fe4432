// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/nvidia/report.h"
#include "attestation/show/parts.h"

namespace caravan::attestation::show {
namespace {

using nvidia::DeviceClass;
using nvidia::OpaqueField;
using nvidia::Report;

// Names 1 to 26 are NVIDIA/nvtrust's, 27 and 32 to 36 NVIDIA/attestation-sdk's.
std::string OpaqueName(uint16_t type, DeviceClass device_class) {
  constexpr const char* kNames[] = {"",
                                    "cert_issuer_name",
                                    "cert_authority_key_id",
                                    "driver_version",
                                    "gpu_info",
                                    "sku",
                                    "vbios_version",
                                    "manufacturer_id",
                                    "tamper_detection",
                                    "smc",
                                    "vpr",
                                    "nvdec0_status",
                                    "msrscnt",
                                    "cprinfo",
                                    "board_id",
                                    "chip_sku",
                                    "chip_sku_mod",
                                    "project",
                                    "project_sku",
                                    "project_sku_mod",
                                    "fwid",
                                    "protected_pcie_status",
                                    "switch_pdi",
                                    "floorswept_ports",
                                    "position_id",
                                    "lock_switch_status",
                                    "switch_gpu_pdis",
                                    "switch_ports"};
  if (device_class == DeviceClass::kSwitch) {
    if (type == 22) return "device_pdi";
    if (type == 23) return "disabled_ports";
  }
  switch (type) {
    case 32:
      return "gpu_link_conn";
    case 33:
      return "sys_enable_status";
    case 34:
      return "opaque_data_version";
    case 35:
      return "chip_info";
    case 36:
      return "feature_flag";
    default:
      if (type > 0 && type < std::size(kNames)) return kNames[type];
      return absl::StrCat("type_", type);
  }
}

// DMTFSpecMeasurementValueType (DSP0274, table 47).
const char* MeasurementTypeName(uint8_t type) {
  switch (type & 0x7F) {
    case 0:
      return "immutable rom";
    case 1:
      return "mutable firmware";
    case 2:
      return "hardware configuration";
    case 3:
      return "firmware configuration";
    case 4:
      return "manifest";
    default:
      return "no meaning is known here";
  }
}

// A driver runs a GPU; a switch has none of its own.
DeviceClass ClassOf(const Report& report) {
  for (const OpaqueField& field : report.opaque) {
    if (field.type == nvidia::kDriverVersion && !IsZero(field.value)) return DeviceClass::kGpu;
  }
  return DeviceClass::kSwitch;
}

std::string TextOf(std::string_view value) {
  while (!value.empty() && value.back() == '\0') value.remove_suffix(1);
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return absl::ascii_isprint(c);
  });
  return plain ? absl::StrCat("\"", std::string(value), "\"") : "";
}

void ShowDevice(DeviceClass device_class, const Report& report, Dump* dump) {
  const absl::StatusOr<nvidia::DeviceInfo> info = nvidia::ReadDeviceInfo(device_class, report);
  if (!info.ok()) return dump->Malformed(info.status());
  DumpSection& device = dump->Section("device");
  device.Add("class", std::string(nvidia::Name(device_class)),
             "by whether it names a driver; the certificates decide");
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) device.Add(name, value);
  };
  text("vbios_version", info->vbios_version);
  text("driver_version", info->driver_version);
  text("project", info->project);
  text("project_sku", info->project_sku);
  text("chip_sku", info->chip_sku);
  text("chip_info", info->chip_info);
  const auto flag = [&](const char* name, const std::optional<bool>& value) {
    if (value.has_value()) device.Add(name, *value ? "yes" : "no");
  };
  flag("nvdec0_enabled", info->nvdec0_enabled);
  flag("protected_pcie", info->protected_pcie);
  flag("locked", info->locked);
  if (info->feature_flag.has_value()) {
    constexpr const char* kFeatures[] = {"SPT: one GPU in one machine",
                                         "MPT: several GPUs in one machine",
                                         "PPCIE: GPUs and switches in one machine"};
    device.Add("feature_flag", absl::StrCat(*info->feature_flag),
               *info->feature_flag < std::size(kFeatures) ? kFeatures[*info->feature_flag]
                                                          : "no meaning is known here");
  }
  if (info->own_pdi.has_value()) device.Add("pdi", HexOf(*info->own_pdi));
  for (const nvidia::Pdi& peer : info->peers) {
    device.Add("peer", HexOf(peer), device_class == DeviceClass::kGpu ? "switch" : "gpu");
  }
}

}  // namespace

void ShowNvidia(std::string_view bytes, Dump* dump) {
  const absl::StatusOr<Report> report = nvidia::ParseReport(bytes);
  if (!report.ok()) return dump->Malformed(report.status());
  DumpSection& spdm = dump->Section("spdm");
  spdm.Add("version", "1.1");
  spdm.Add("nonce", Hex(report->nonce), "the requester's");
  spdm.Add("slot", absl::StrCat(static_cast<int>(report->slot)), "of the certificate chain");
  spdm.Add("responder_nonce", Hex(report->responder_nonce));
  spdm.Add("measurements", absl::StrCat(report->measurements.size()));
  spdm.Add("opaque_fields", absl::StrCat(report->opaque.size()));

  const DeviceClass device_class = ClassOf(*report);
  ShowDevice(device_class, *report, dump);
  DumpSection& measurements = dump->Section("measurements");
  for (const nvidia::Measurement& block : report->measurements) {
    measurements.Add(
        absl::StrFormat("measurement_%02d", block.index), Hex(block.digest),
        absl::StrCat(MeasurementTypeName(block.type), IsZero(block.digest) ? ", zero" : ""));
  }
  DumpSection& opaque = dump->Section("opaque");
  for (const OpaqueField& field : report->opaque) {
    opaque.Add(OpaqueName(field.type, device_class), Hex(field.value), TextOf(field.value));
  }
  DumpSection& signature = dump->Section("signature");
  AddBytes("signature", report->signature, &signature);
  for (const std::string& unknown : report->unknown) {
    dump->problems.push_back(absl::StrCat("not known here: ", unknown));
  }
  if (!report->trailing.empty() && !IsZero(report->trailing)) {
    dump->problems.push_back(
        absl::StrCat(report->trailing.size(), " bytes follow the report, not signed and not zero"));
  }
}

}  // namespace caravan::attestation::show
