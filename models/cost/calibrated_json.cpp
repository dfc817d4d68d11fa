#include "models/cost/calibrated_json.h"

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "models/cost/shape_attributes.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  explicit Writer(const Profile& profile) : profile_(profile), c_(*profile.calibration) {}

  Json document() const {
    return {{"format", "windtunnel profile"},
            {"version", 1},
            {"id", profile_.id},
            {"device", profile_.device},
            {"kind", "calibrated"},
            {"date", profile_.date},
            {"stack", profile_.stack},
            {"sources", sources()},
            {"fingerprint", texts(c_.fingerprint)},
            {"anchors",
             {{"flops_per_s", c_.anchors.flops_per_s},
              {"bytes_per_s", c_.anchors.bytes_per_s},
              {"source", key_of(c_.source)}}},
            {"noise", c_.noise},
            {"drift", c_.drift},
            {"class_sigma", figures(profile_.class_sigma)},
            {"memory",
             {{"usable_bytes", figure(profile_.memory.usable_bytes)},
              {"context_bytes", figure(profile_.memory.context_bytes)}}},
            {"peak_flops", figures(profile_.chip.tensor_flops)},
            {"host", figures(profile_.host)},
            {"quality", quality()},
            {"extrapolated", c_.extrapolated},
            {"kernels", kernels()},
            {"measured", measured()},
            {"collectives", collectives()}};
  }

  void add_optional(Json& document) const {
    if (!c_.slow.empty()) document["slow"] = c_.slow;
    if (c_.overlap) {
      Json by_class = Json::object();
      for (const auto& [cls, share] : c_.overlap->compute_beside_collective) {
        by_class[name_of(cost_class_of(cls))] = share;
      }
      document["overlap"] = {{"compute_beside_collective", by_class},
                             {"collective_beside_compute", c_.overlap->collective_beside_compute}};
    }
    if (c_.storage) {
      document["storage"] = {{"write", figure(c_.storage->write)},
                             {"read", figure(c_.storage->read)}};
    }
  }

 private:
  const std::string& key_of(std::uint16_t source) const {
    CHECK(source < profile_.sources.size(), "a source is an index of the list");
    return profile_.sources[source].key;
  }

  Json figure(const Figure& f) const {
    return {{"value", f.value}, {"sigma", f.sigma}, {"source", key_of(f.source)}};
  }

  template <class Enum>
  Json figures(const std::map<Enum, Figure>& map) const {
    Json all = Json::object();
    for (const auto& [key, value] : map) all[name_of(key)] = figure(value);
    return all;
  }

  static Json texts(const std::vector<std::pair<std::string, std::string>>& pairs) {
    Json all = Json::object();
    for (const auto& [key, value] : pairs) all[key] = value;
    return all;
  }

  /// The one that is added when a profile is read is left out.
  Json sources() const {
    Json all = Json::object();
    for (std::size_t i = 0; i < profile_.sources.size(); ++i) {
      if (c_.extrapolation_source != 0 && i == c_.extrapolation_source) continue;
      all[profile_.sources[i].key] = profile_.sources[i].text;
    }
    return all;
  }

  Json quality() const {
    Json all = Json::array();
    for (const FitQuality& q : c_.quality) {
      all.push_back({{"of", q.name},
                     {"mape", q.mape},
                     {"p90", q.p90},
                     {"samples", q.samples},
                     {"held_out", q.held_out}});
    }
    return all;
  }

  Json kernels() const {
    Json all = Json::array();
    for (const auto& [key, k] : c_.kernels) {
      all.push_back({{"kernel", name_of(key.first)},
                     {"in", name_of(key.second)},
                     {"fixed_s", k.fixed_s},
                     {"seconds_per_flop", k.seconds_per_flop},
                     {"seconds_per_byte", k.seconds_per_byte},
                     {"error", k.error},
                     {"p90", k.p90},
                     {"flops", {k.flops.least, k.flops.most}},
                     {"bytes", {k.bytes.least, k.bytes.most}},
                     {"samples", k.samples}});
    }
    return all;
  }

  Json measured() const {
    Json all = Json::array();
    for (const auto& [shape, cost] : c_.measured) {
      Json attributes = Json::array();
      for (const auto& [bit, name] : kShapeAttributeNames) {
        if ((shape.attr & bit) != 0) attributes.push_back(name);
      }
      all.push_back({{"kernel", name_of(shape.kernel)},
                     {"in", name_of(shape.in)},
                     {"out", name_of(shape.out)},
                     {"attr", attributes},
                     {"dims", shape.dims},
                     {"seconds", cost.seconds},
                     {"sigma", cost.sigma},
                     {"samples", cost.samples}});
    }
    return all;
  }

  Json collectives() const {
    Json all = Json::array();
    for (const CollectiveCurve& curve : profile_.curves) {
      Json points = Json::array();
      for (const auto& [bytes, seconds] : curve.points) points.push_back({bytes, seconds * 1e6});
      Json entry = {{"kind", name_of(curve.kind)},
                    {"ranks", curve.ranks},
                    {"nodes", curve.nodes},
                    {"network", name_of(curve.network)}};
      if (curve.network != NetworkType::none) entry["nic_bandwidth"] = curve.nic_bandwidth;
      entry["sigma"] = curve.sigma;
      entry["source"] = key_of(curve.source);
      entry["points_us"] = points;
      for (const CallNoise& noise : curve.noise) {
        entry["noise"].push_back({noise.sigma, noise.early});
      }
      all.push_back(entry);
    }
    return all;
  }

  const Profile& profile_;
  const Calibration& c_;
};

}  // namespace

std::string calibrated_profile_text(const Profile& profile) {
  CHECK(profile.calibration.has_value(), "only a calibration is written");
  const Writer writer(profile);
  Json document = writer.document();
  writer.add_optional(document);
  // What a system says of itself need not be UTF-8.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace windtunnel
